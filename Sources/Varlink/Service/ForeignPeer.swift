// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Systemd

/// The peer of a transport that may be any user's process, and may make system calls on its socket cost much (``PeerCost``).
///
/// What such a peer has sent is only looked at, and handled; it is received when an answer has shown that the peer is cheap, or else by another thread.
@EventLoop
package final class ForeignPeer {
    private let user: UInt32
    private let costs: PeerCosts
    private var cost = PeerCost()
    /// How many bytes have been looked at, and are still in the socket.
    private var unreceived = 0
    /// Whether another thread receives them.
    private var isReceiving = false

    init(user: UInt32, costs: PeerCosts) {
        self.user = user
        self.costs = costs
    }

    /// Whether something has been looked at that is still in the socket, so that nothing else can be read.
    var isBehind: Bool { unreceived > 0 }

    /// Whether all that is still in the socket has been looked at.
    func hasSeenAll(of descriptor: OwnedDescriptor) -> Bool {
        isBehind && !isReceiving && descriptor.unreadCount == unreceived
    }

    /// Whether a call was cheap a moment ago.
    var isKnownCheap: Bool { cost.isKnownCheap }

    /// Reads what is there: what recv(2) returns, with its `errno`.
    func read(_ descriptor: OwnedDescriptor, into room: UnsafeMutableRawBufferPointer) -> Int {
        if cost.isKnownCheap { return descriptor.receive(into: room) }
        let count = descriptor.look(into: room)
        unreceived = max(0, count)
        return count
    }

    /// Makes a call that sends; nil if the peer's user has to stay away.
    func measure(_ call: () -> Int) -> Int? {
        if costs.isExcluded(user) { return nil }
        let (result, excess) = cost.measure(call)
        if excess > 0 { costs.charge(excess, to: user) }
        return result
    }

    /// Receives what has been looked at: at once if the peer is known to be cheap, else on another thread, unless an answer to it is to come.
    ///
    /// - Parameter onEnd: called when the other thread has received it.
    func catchUp(_ descriptor: OwnedDescriptor, isWaiting: Bool, onEnd: @escaping @EventLoop @Sendable () -> Void) {
        guard isBehind, !isReceiving else { return }
        if cost.isKnownCheap {
            descriptor.discard(unreceived)
            unreceived = 0
        } else if !isWaiting {
            isReceiving = true
            descriptor.discardElsewhere(unreceived, for: user) { excess in
                self.isReceiving = false
                self.unreceived = 0
                if excess > 0 { self.costs.charge(excess, to: self.user) }
                onEnd()
            }
        }
    }
}
