// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Synchronization

/// The descriptors of other processes that a socket has brought in and that are not closed yet.
///
/// A process without room for more must not receive any: the kernel would close them itself, and wait for that, in the middle of recvmsg(2).
/// So a socket receives nothing before all that it has brought in are closed, and all sockets together have a quarter of the descriptors.
final class ForeignDescriptors: Sendable {
    private struct State {
        var count = 0
        var waiter: (@Sendable () -> Void)?
    }

    /// The most that come with one datagram.
    static let perDatagram = Int(STATUSD_MAX_DESCRIPTORS)

    private static let limit = max(perDatagram, OwnedDescriptor.limit / 4)
    private static let ofAll = Atomic(0)

    private let state = Mutex(State())

    /// Whether all have been closed.
    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// How many datagrams all sockets together may receive now, whatever comes with them.
    static var datagramsToReceive: Int { (limit - ofAll.load(ordering: .acquiring)) / perDatagram }

    /// One has come.
    func add() {
        Self.ofAll.add(1, ordering: .acquiringAndReleasing)
        state.withLock { $0.count += 1 }
    }

    /// One has been closed.
    func remove() {
        Self.ofAll.subtract(1, ordering: .acquiringAndReleasing)
        let waiter = state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiter.take() : nil
        }
        waiter?()
    }

    /// Calls `body` once all have been closed, on whatever thread closes the last one.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = state.withLock { state in
            if state.count > 0 { state.waiter = body }
            return state.count == 0
        }
        if isEmpty { body() }
    }
}
