// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Limits how many connections each user may have.
///
/// If all places are taken, a new user takes one of the user who has the most. So the greediest users are refused
/// first, and nobody can lock out a newcomer. The last places are reserved for root and for this process's own user.
struct ConnectionPlaces {
    /// The decision about a new connection.
    enum Answer: Equatable {
        /// It is accepted.
        case place
        /// It is accepted; a connection of this user must be closed for it.
        case placeOf(UInt32)
        /// Its user has reached this limit.
        case tooManyOfUser(Int)
        /// All users together have reached this limit, and none has more than its share.
        case tooManyOfAll(Int)
    }

    /// How many places are for root only.
    static let reservedForRoot = 16
    /// How many more are for root and this process's own user only.
    static let reservedForOwnUser = 16

    /// How many connections a user may have, except root.
    var limitOfUser: Int
    /// How many connections all users may have together.
    var limitOfAll: Int
    private let ownUser: UInt32
    private var connectionsOfUser: [UInt32: Int] = [:]
    private var used = 0

    init(limitOfUser: Int, limitOfAll: Int, ownUser: UInt32 = geteuid()) {
        self.limitOfUser = limitOfUser
        self.limitOfAll = limitOfAll
        self.ownUser = ownUser
    }

    /// Takes a place for a connection of `user`, if there is one.
    mutating func take(for user: UInt32) -> Answer {
        let connections = connectionsOfUser[user, default: 0]
        if user != 0, connections >= limitOfUser { return .tooManyOfUser(limitOfUser) }
        if used < limitOfAll - reserve(for: user) {
            add(user)
            return .place
        }
        guard let greediest, greediest.connections > connections + 1 else { return .tooManyOfAll(limitOfAll) }
        giveBack(of: greediest.user)
        add(user)
        return .placeOf(greediest.user)
    }

    /// Returns the place of a connection of `user`, unless it was given to another (``Answer/placeOf(_:)``).
    mutating func giveBack(of user: UInt32) {
        guard let connections = connectionsOfUser[user] else { return }
        connectionsOfUser[user] = connections > 1 ? connections - 1 : nil
        used -= 1
    }

    private mutating func add(_ user: UInt32) {
        connectionsOfUser[user, default: 0] += 1
        used += 1
    }

    private func reserve(for user: UInt32) -> Int {
        if user == 0 { return 0 }
        return user == ownUser ? Self.reservedForRoot : Self.reservedForRoot + Self.reservedForOwnUser
    }

    /// The user other than root who has the most connections.
    private var greediest: (user: UInt32, connections: Int)? {
        connectionsOfUser.lazy.filter { $0.key != 0 }.max { $0.value < $1.value }.map { ($0.key, $0.value) }
    }
}
