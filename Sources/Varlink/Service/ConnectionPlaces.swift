// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Who may have how many connections.
///
/// If all places are taken, a user who has fewer connections than another gets a place of the user who has most. So the greediest are
/// refused first, and nobody can lock out a newcomer. The last places are for this process's own user and for root.
struct ConnectionPlaces {
    /// What becomes of a new connection.
    enum Answer: Equatable {
        /// It gets a place.
        case place
        /// It gets a place of this user, one of whose connections must be closed.
        case placeOf(UInt32)
        /// Its user has as many as a user may have.
        case tooManyOfUser(Int)
        /// All places are taken, and no user has more than its own.
        case tooManyOfAll(Int)
    }

    /// How many places nobody but root gets.
    static let reservedForRoot = 16
    /// How many more nobody but root and this process's own user gets.
    static let reservedForOwnUser = 16

    /// How many connections one user may have; root may have more.
    var limitOfUser: Int
    /// How many all users together may have.
    var limitOfAll: Int
    private let ownUser: UInt32
    private var connectionsOfUser: [UInt32: Int] = [:]
    private var used = 0

    init(limitOfUser: Int, limitOfAll: Int, ownUser: UInt32 = geteuid()) {
        self.limitOfUser = limitOfUser
        self.limitOfAll = limitOfAll
        self.ownUser = ownUser
    }

    /// Asks for a place for a connection of `user`; a place that it gets has been taken then.
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

    /// Gives the place of a connection of `user` back, unless that was given away (``Answer/placeOf(_:)``).
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

    /// The user other than root who has most connections.
    private var greediest: (user: UInt32, connections: Int)? {
        connectionsOfUser.lazy.filter { $0.key != 0 }.max { $0.value < $1.value }.map { ($0.key, $0.value) }
    }
}
