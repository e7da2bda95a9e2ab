// SPDX-License-Identifier: Apache-2.0

/// What several owners have the loop do, such as users by their connections: each may take its share of a turn at once, and what is left waits for the
/// next turns, in which the owner comes first who has taken least.
///
/// An owner is a number. However much waits, it takes no more than a millisecond of each turn, and no more than that is done at once; a piece of work takes what it
/// takes, but the next one has to wait. Half of the millisecond is for short work, in which owners take turns whatever they have taken: so thousands of owners with long work, each of whom has taken little, do
/// not delay an answer that takes microseconds.
@EventLoop
public final class TurnQueue {
    private typealias Work = @EventLoop () -> Void

    /// How much of a turn owners may take at once, and how much of it what waits may take, in nanoseconds.
    private static let limit: UInt64 = 1_000_000
    /// What takes less is not charged to its owner, in nanoseconds: most things do, and a hundred of them take no more than a share.
    private static let leastNoted: UInt64 = 10_000
    /// What probably takes no longer is short work, in nanoseconds.
    public static let longestShort: UInt64 = 50_000

    private var short = FairQueue<Work>()
    private var long = FairQueue<Work>(credit: TurnQueue.limit)
    /// Owners whose work took longer than their last estimate; it counts as long until it is short again.
    private var underestimated: Set<UInt32> = []
    private var isScheduled = false
    /// Whether what waits is being done, of which each piece is charged, however small.
    private var isGoingOn = false
    private var turn: UInt64 = 0
    /// What each owner has taken of this turn, and all of them together.
    private var taken: [UInt32: UInt64] = [:]
    private var takenByAll: UInt64 = 0

    /// A queue in which nothing waits.
    public init() {}

    private var isEmpty: Bool { short.isEmpty && long.isEmpty }

    /// Whether something of an owner has to wait: because all owners have had their part of this turn, or others wait and this one has had its share of
    /// it, or something of it waits already.
    public func mustWait(_ owner: UInt32) -> Bool {
        beginTurn()
        if takenByAll >= Self.limit { return true }
        if isEmpty { return false }
        if short.contains(owner) || long.contains(owner) { return true }
        return taken[owner, default: 0] >= Self.limit / UInt64(short.ownerCount + long.ownerCount)
    }

    /// Notes how long something of an owner has been done in this turn.
    public func note(_ nanoseconds: UInt64, by owner: UInt32) {
        beginTurn()
        takenByAll += nanoseconds
        guard nanoseconds >= Self.leastNoted else { return }
        taken[owner, default: 0] += nanoseconds
        if !isGoingOn { long.charge(nanoseconds, to: owner) }
    }

    private func beginTurn() {
        guard turn != EventLoop.turn else { return }
        (turn, takenByAll) = (EventLoop.turn, 0)
        if !taken.isEmpty { taken.removeAll(keepingCapacity: true) }
    }

    /// Leaves something of an owner to the next turns, with an estimate of how long it takes, in nanoseconds.
    public func append(of owner: UInt32, estimate: UInt64 = 0, _ work: @escaping @EventLoop () -> Void) {
        // What an owner has stays in order, so nothing overtakes its long work.
        if estimate <= Self.longestShort, !underestimated.contains(owner), !long.contains(owner) {
            short.append(work, of: owner)
        } else {
            long.append(work, of: owner)
        }
        schedule()
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atNextTurn { self.goOn() }
    }

    private func goOn() {
        let share = TurnShare()
        var before: UInt64 = 0
        isGoingOn = true
        var owesLong = !long.isEmpty
        while let next = popFirst(after: before, &owesLong) {
            next.element()
            let taken = share.nanosecondsTaken
            long.charge(taken - before, to: next.owner)
            if taken - before > Self.longestShort {
                underestimated.insert(next.owner)
            } else {
                underestimated.remove(next.owner)
            }
            before = taken
        }
        isGoingOn = false
        isScheduled = false
        if isEmpty { underestimated = [] } else { schedule() }
    }

    /// What is to be done next, after so many nanoseconds: short work in the first half of the time, then long work; of which something is done in each turn, even
    /// if the short work has taken longer than it seemed.
    private func popFirst(after nanoseconds: UInt64, _ owesLong: inout Bool) -> (element: Work, owner: UInt32)? {
        if nanoseconds < Self.limit / 2, let next = short.popFirst() { return next }
        guard nanoseconds < Self.limit || owesLong else { return nil }
        owesLong = false
        if let (work, owner) = long.popFirst() {
            let earlier = short.removeAll(of: owner)
            guard let first = earlier.first else { return (work, owner) }
            long.prepend(earlier.dropFirst() + [work], of: owner)
            return (first, owner)
        }
        return nanoseconds < Self.limit ? short.popFirst() : nil
    }
}
