// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Synchronization

/// Counts the descriptors that a socket has received from other processes and that are not closed yet.
///
/// The descriptor table must never be full while a datagram is received: the kernel closes the descriptors that do not fit, in recvmsg(2), and
/// that close may block. So a socket receives nothing until all descriptors it has received are closed, and all sockets together use no more
/// than a quarter of the table.
final class ForeignDescriptors: Sendable {
    private struct State {
        var count = 0
        var waiter: (@Sendable () -> Void)?
    }

    /// The maximum number of descriptors in one datagram.
    static let perDatagram = Int(STATUSD_MAX_DESCRIPTORS)

    private static let limit = max(perDatagram, OwnedDescriptor.limit / 4)
    private static let ofAll = Atomic(0)
    private static let lastNumber = Atomic<UInt32>(0)

    /// A number that no other socket's descriptors have; not 0.
    let number = ForeignDescriptors.lastNumber.add(1, ordering: .relaxed).newValue
    private let state = Mutex(State())

    /// Whether all have been closed.
    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// How many datagrams fit now, each with the maximum number of descriptors.
    static var datagramsToReceive: Int { (limit - ofAll.load(ordering: .acquiring)) / perDatagram }

    /// Counts a received descriptor.
    func add() {
        Self.ofAll.add(1, ordering: .acquiringAndReleasing)
        state.withLock { $0.count += 1 }
    }

    /// Counts a closed descriptor.
    func remove() {
        Self.ofAll.subtract(1, ordering: .acquiringAndReleasing)
        let waiter = state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiter.take() : nil
        }
        waiter?()
    }

    /// Calls `body` once all are closed, on the thread that closes the last one.
    ///
    /// A second call replaces the first one's body.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = state.withLock { state in
            if state.count > 0 { state.waiter = body }
            return state.count == 0
        }
        if isEmpty { body() }
    }
}
