// SPDX-License-Identifier: Apache-2.0

package import Systemd

/// The peer of a transport that may be any user's process, and may make system calls on its socket cost much (``PeerCost``).
///
/// What such a peer has sent is only looked at, and handled; then another thread receives it, and in the end closes the socket.
@EventLoop
package final class ForeignPeer {
    private let user: UInt32
    private let costs: PeerCosts
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

    /// Looks at what is there: what recv(2) would return, with its `errno`.
    func look(_ descriptor: OwnedDescriptor, into room: UnsafeMutableRawBufferPointer) -> Int {
        let count = descriptor.look(into: room)
        unreceived = max(0, count)
        return count
    }

    /// Makes a call that sends so many bytes; nil if the peer's user has to stay away.
    func measure(bytes: Int, _ call: () -> Int) -> Int? {
        if costs.isExcluded(user) { return nil }
        let clock: PeerCost.Clock = costs.isSuspect(user) ? .processor : .wall
        let (result, excess) = PeerCost.measure(clock, bytes: bytes, call)
        if excess > 0 { costs.charge(excess, by: clock, to: user) }
        return result
    }

    /// Has another thread receive what has been looked at.
    ///
    /// - Parameter onEnd: called when it has.
    func catchUp(_ descriptor: OwnedDescriptor, onEnd: @escaping @EventLoop @Sendable () -> Void) {
        guard isBehind, !isReceiving else { return }
        isReceiving = true
        descriptor.discardElsewhere(unreceived, for: user) { excess in
            self.isReceiving = false
            self.unreceived = 0
            if excess > 0 { self.costs.charge(excess, by: .processor, to: self.user) }
            onEnd()
        }
    }
}
