// SPDX-License-Identifier: Apache-2.0

/// How long calls of each user have been handled in a turn of the loop, and which of its connections wait for the next one.
///
/// However many connections a user has, others wait for little more than one share: a message takes what it takes, but the next one of the
/// same user has to wait for the next turn. Those that wait keep their order, and newer ones come behind them.
struct UserShares {
    /// What a user may take of a turn, in nanoseconds.
    private static let limit: UInt64 = 1_000_000

    private var turn: UInt64 = 0
    private var taken: [UInt32: UInt64] = [:]
    private var waiting: [UInt32: Int] = [:]

    /// Whether a connection of a user has to wait for the next turn; `hasWaited`: whether it did so.
    mutating func mustWait(_ user: UInt32, in turn: UInt64, hasWaited: Bool) -> Bool {
        if turn != self.turn {
            self.turn = turn
            taken.removeAll(keepingCapacity: true)
        }
        if !hasWaited, waiting[user] != nil { return true }
        return taken[user].map { $0 >= Self.limit } ?? false
    }

    /// Notes how long calls of a user have been handled in the turn that was asked for last.
    mutating func note(_ nanoseconds: UInt64, by user: UInt32) { taken[user, default: 0] += nanoseconds }

    /// Notes that a connection of a user waits.
    mutating func beginWait(of user: UInt32) { waiting[user, default: 0] += 1 }

    /// Notes that a connection of a user waits no more.
    mutating func endWait(of user: UInt32) {
        let count = waiting[user, default: 1] - 1
        waiting[user] = count > 0 ? count : nil
    }
}
