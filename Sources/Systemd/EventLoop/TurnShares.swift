// SPDX-License-Identifier: Apache-2.0

/// How much of a turn of the loop each owner has taken by all that it has, such as a user by its connections, and how much of that waits
/// for the next turn.
///
/// An owner is a number. Those that wait share a millisecond of each turn: a message takes what it takes, but the next one of the same owner
/// has to wait for the next turn. Those that wait keep their order, and newer ones come behind them.
public struct TurnShares: Sendable {
    /// What all owners together should take of a turn if there is much to do, in nanoseconds.
    private static let limit: UInt64 = 1_000_000
    /// What takes less is not noted, in nanoseconds: most things do, and a hundred of them take no more than a share.
    private static let leastNoted: UInt64 = 10_000

    private var turn: UInt64 = 0
    private var taken: [UInt32: UInt64] = [:]
    private var waiting: [UInt32: Int] = [:]

    /// Shares of which nothing is taken.
    public init() {}

    /// Whether something of an owner has to wait for the next turn; `hasWaited`: whether it did so.
    public mutating func mustWait(_ owner: UInt32, in turn: UInt64, hasWaited: Bool) -> Bool {
        if turn != self.turn {
            self.turn = turn
            if !taken.isEmpty { taken.removeAll(keepingCapacity: true) }
        }
        if !hasWaited, !waiting.isEmpty, waiting[owner] != nil { return true }
        return !taken.isEmpty && taken[owner, default: 0] >= Self.limit / UInt64(max(1, waiting.count))
    }

    /// Notes how long something of an owner has been handled in the turn that was asked for last.
    public mutating func note(_ nanoseconds: UInt64, by owner: UInt32) {
        if nanoseconds >= Self.leastNoted { taken[owner, default: 0] += nanoseconds }
    }

    /// Notes that something of an owner waits.
    public mutating func beginWait(of owner: UInt32) { waiting[owner, default: 0] += 1 }

    /// Notes that something of an owner waits no more.
    public mutating func endWait(of owner: UInt32) {
        let count = waiting[owner, default: 1] - 1
        waiting[owner] = count > 0 ? count : nil
    }
}
