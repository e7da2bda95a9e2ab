// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Varlink

@Suite("Places for connections") struct ConnectionPlacesTests {
    private let root: UInt32 = 0
    private let own: UInt32 = 100
    private var places = ConnectionPlaces(limitOfUser: 128, limitOfAll: 1000, ownUser: 100)
    private var counts: [UInt32: Int] = [:]

    /// Makes a user request places; returns the number of granted ones.
    @discardableResult
    private mutating func ask(_ user: UInt32, times: Int = 2000) -> Int {
        var got = 0
        for _ in 0..<times {
            switch places.take(for: user) {
            case .place: break
            case .placeOf(let other): counts[other, default: 0] -= 1
            case .tooManyOfUser, .tooManyOfAll: continue
            }
            counts[user, default: 0] += 1
            got += 1
        }
        return got
    }

    @Test("a user gets only so many until one is given back")
    mutating func ofUser() {
        #expect(ask(1) == 128)
        #expect(places.take(for: 1) == .tooManyOfUser(128))
        places.giveBack(of: 1)
        #expect(ask(1) == 1)
        #expect(ask(own) == 128)
    }

    @Test("however many greedy users there are, a newcomer gets in, and so do root and the daemon's own user")
    mutating func manyUsers() {
        for user in 1001...1050 { ask(UInt32(user)) }
        #expect(counts.values.reduce(0, +) == 1000 - 32)
        #expect(ask(5000, times: 3) == 3)
        #expect(ask(root, times: 16) == 16)
        // The remaining places are root's.
        #expect(ask(own, times: 16) == 16)
        #expect(counts.values.reduce(0, +) == 1000 - 16)
        #expect(ask(root, times: 500) == 16)
        #expect(counts.values.reduce(0, +) == 1000)
    }

    @Test("greedy users get equal shares, in any order of arrival")
    mutating func fair() {
        for user in 1001...1020 { ask(UInt32(user)) }
        let shares = counts.values
        #expect((shares.max() ?? 0) - (shares.min() ?? 0) <= 1)
        #expect(shares.reduce(0, +) == 1000 - 32)
    }

    @Test("root may have more places than a user, and gives up none of them to others")
    mutating func ofRoot() {
        #expect(ask(root, times: 300) == 300)
        for user in 1001...1020 { ask(UInt32(user)) }
        #expect(counts[root] == 300)
        #expect(counts.values.reduce(0, +) == 1000 - 32)
    }

    @Test("if no user has more than another, all are refused")
    mutating func equals() {
        for user in 0..<968 { ask(UInt32(10_000 + user), times: 1) }
        #expect(places.take(for: 1) == .tooManyOfAll(1000))
        #expect(places.take(for: root) == .place)
    }
}
