// SPDX-License-Identifier: Apache-2.0

/// What several owners have the loop do, such as users by their connections: each may take its share of a turn at once, and what is left waits for the
/// next turns, in which owners take turns.
///
/// An owner is a number. However much waits, it takes no more than a millisecond of each turn; a piece of work takes what it takes, but the next one has
/// to wait.
@EventLoop
public final class TurnQueue {
    /// How much of a turn owners may take at once, and how much of it what waits may take, in nanoseconds.
    private static let limit: UInt64 = 1_000_000
    /// What takes less is not noted, in nanoseconds: most things do, and a hundred of them take no more than a share.
    private static let leastNoted: UInt64 = 10_000

    private var waiting = FairQueue<@EventLoop () -> Void>()
    private var isScheduled = false
    private var turn: UInt64 = 0
    private var taken: [UInt32: UInt64] = [:]

    /// A queue in which nothing waits.
    public init() {}

    /// Whether something of an owner has to wait: because something of it does already, or because it has had its share of this turn.
    public func mustWait(_ owner: UInt32) -> Bool {
        beginTurn()
        if !waiting.isEmpty, waiting.contains(owner) { return true }
        return !taken.isEmpty && taken[owner, default: 0] >= Self.limit / UInt64(max(1, waiting.ownerCount))
    }

    /// Notes how long something of an owner has been done in this turn.
    public func note(_ nanoseconds: UInt64, by owner: UInt32) {
        guard nanoseconds >= Self.leastNoted else { return }
        beginTurn()
        taken[owner, default: 0] += nanoseconds
    }

    private func beginTurn() {
        guard turn != EventLoop.turn else { return }
        turn = EventLoop.turn
        if !taken.isEmpty { taken.removeAll(keepingCapacity: true) }
    }

    /// Leaves something of an owner to the next turns.
    public func append(of owner: UInt32, _ work: @escaping @EventLoop () -> Void) {
        waiting.append(work, of: owner)
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atNextTurn { self.goOn() }
    }

    private func goOn() {
        let share = TurnShare()
        while share.nanosecondsTaken < Self.limit, let work = waiting.popFirst() { work() }
        isScheduled = !waiting.isEmpty
        if isScheduled { EventLoop.atNextTurn { self.goOn() } }
    }
}
