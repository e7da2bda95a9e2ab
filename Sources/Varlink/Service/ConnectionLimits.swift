// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Limits how many connections each user, and all users together, may have.
///
/// The last connections are reserved for root and this process's own user, so that other users cannot lock them out.
struct ConnectionLimits {
    /// A limit that a user has reached.
    enum Reached: Error, Equatable {
        case ofUser(Int)
        case ofAll(Int)

        /// How many connections it allows.
        var value: Int {
            switch self {
            case .ofUser(let value), .ofAll(let value): value
            }
        }
    }

    /// How many connections are for root only.
    static let reservedForRoot = 16
    /// How many more are for root and this process's own user only.
    static let reservedForOwnUser = 16

    /// How many connections a user may have, except root.
    var ofUser: Int
    /// How many connections all users may have together.
    var ofAll: Int
    private let ownUser: UInt32
    private var countOfUser: [UInt32: Int] = [:]
    private var count = 0

    init(ofUser: Int, ofAll: Int, ownUser: UInt32 = geteuid()) {
        self.ofUser = ofUser
        self.ofAll = ofAll
        self.ownUser = ownUser
    }

    /// Counts a new connection of `user`, unless a limit is reached.
    mutating func add(_ user: UInt32) throws(Reached) {
        if user != 0, countOfUser[user, default: 0] >= ofUser { throw .ofUser(ofUser) }
        guard count < ofAll - reserve(for: user) else { throw .ofAll(ofAll) }
        countOfUser[user, default: 0] += 1
        count += 1
    }

    /// Stops counting a connection of `user`.
    mutating func remove(_ user: UInt32) {
        let rest = countOfUser[user, default: 0] - 1
        countOfUser[user] = rest > 0 ? rest : nil
        count -= 1
    }

    private func reserve(for user: UInt32) -> Int {
        if user == 0 { return 0 }
        return user == ownUser ? Self.reservedForRoot : Self.reservedForRoot + Self.reservedForOwnUser
    }
}
