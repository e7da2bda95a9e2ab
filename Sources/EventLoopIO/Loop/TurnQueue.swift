// SPDX-License-Identifier: Apache-2.0

/// Work of several owners, such as users, that share each turn of the loop fairly.
///
/// An owner is a number. Each owner may take its share of a turn at once. Further work waits for the next turns, and the owner that has
/// taken least comes first. All waiting work together takes at most a millisecond of each turn; a piece of work is not interrupted, but
/// delays the next one.
///
/// Half of the millisecond is for short work, in which owners take turns regardless of what they have taken. So thousands of owners with
/// long work, each of which has taken little, do not delay an answer that takes microseconds.
@EventLoop
public final class TurnQueue {
    private typealias Work = @EventLoop () -> Void

    /// How much of a turn owners may take at once, and how much of it waiting work may take, in nanoseconds.
    private static let limit: UInt64 = 1_000_000
    /// Shorter work is not charged to its owner, in nanoseconds.
    ///
    /// Most work is; a hundred pieces take no more than a share.
    private static let leastNoted: UInt64 = 10_000
    /// Work with a higher estimate is long work, in nanoseconds.
    public static let longestShort: UInt64 = 50_000

    private var short = FairQueue<Work>()
    private var long = FairQueue<Work>(credit: TurnQueue.limit)
    /// Owners whose last work exceeded its estimate.
    ///
    /// Their work counts as long until one is short again.
    private var underestimated: Set<UInt32> = []
    private var isScheduled = false
    /// Whether waiting work is being done, of which each piece is charged, however short.
    private var isGoingOn = false
    private var turn: UInt64 = 0
    /// What each owner has taken of this turn, and the sum.
    private var taken: [UInt32: UInt64] = [:]
    private var takenByAll: UInt64 = 0

    /// Creates an empty queue.
    public init() {}

    private var isEmpty: Bool { short.isEmpty && long.isEmpty }

    /// Whether an owner's work must wait.
    ///
    /// It must if all owners together have used their part of this turn, if other work waits and this owner has used its share, or if work
    /// of this owner already waits.
    public func mustWait(_ owner: UInt32) -> Bool {
        beginTurn()
        if takenByAll >= Self.limit { return true }
        if isEmpty { return false }
        if short.contains(owner) || long.contains(owner) { return true }
        return taken[owner, default: 0] >= Self.limit / UInt64(short.ownerCount + long.ownerCount)
    }

    /// Records how long an owner's work took in this turn.
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

    /// Leaves work to the next turns, with an estimate of its duration in nanoseconds.
    public func append(of owner: UInt32, estimate: UInt64 = 0, _ work: @escaping @EventLoop () -> Void) {
        // An owner's work stays in order, so nothing overtakes its long work.
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

    /// Takes the next work after so many nanoseconds of this turn: short work in the first half, then long work.
    ///
    /// Each turn does some long work, even if the short work took longer than estimated.
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
