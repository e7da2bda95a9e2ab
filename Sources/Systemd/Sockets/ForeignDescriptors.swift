// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Synchronization

/// The descriptors of other processes that a socket has brought in and that are not closed yet.
///
/// A process without room for more must not receive any: the kernel would close them itself, and wait for that, in the middle of recvmsg(2).
/// So a socket receives nothing before all that it has brought in are closed, and all sockets together have a quarter of the descriptors.
final class ForeignDescriptors: Sendable {
    /// The most that come with one datagram.
    static let perDatagram = Int(STATUSD_MAX_DESCRIPTORS)

    private static let limit = max(perDatagram, OwnedDescriptor.limit / 4)
    private static let ofAll = Atomic(0)

    private let count = Atomic(0)

    /// How many datagrams may be received now, whatever comes with them.
    var datagramsToReceive: Int {
        guard count.load(ordering: .acquiring) == 0 else { return 0 }
        return (Self.limit - Self.ofAll.load(ordering: .acquiring)) / Self.perDatagram
    }

    /// One has come.
    func add() {
        count.add(1, ordering: .acquiringAndReleasing)
        Self.ofAll.add(1, ordering: .acquiringAndReleasing)
    }

    /// One has been closed.
    func remove() {
        count.subtract(1, ordering: .acquiringAndReleasing)
        Self.ofAll.subtract(1, ordering: .acquiringAndReleasing)
    }
}
