// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Varlink

@Suite("Limits of connections") struct ConnectionLimitsTests {
    private let root: UInt32 = 0
    private let own: UInt32 = 100
    private var limits = ConnectionLimits(ofUser: 128, ofAll: 1000, ownUser: 100)

    /// Makes a user connect; returns how many connections were accepted.
    @discardableResult
    private mutating func connect(_ user: UInt32, times: Int = 2000) -> Int {
        var count = 0
        for _ in 0..<times { if (try? limits.add(user)) != nil { count += 1 } }
        return count
    }

    @Test("a user at the limit may connect again once a connection ends")
    mutating func ofUser() {
        #expect(connect(1) == 128)
        #expect(throws: ConnectionLimits.Reached.ofUser(128)) { try limits.add(1) }
        limits.remove(1)
        #expect(connect(1) == 1)
        #expect(connect(own) == 128)
    }

    @Test("root may have more than another user")
    mutating func ofRoot() { #expect(connect(root, times: 300) == 300) }

    @Test("if all users together have reached the limit, the daemon's own user and root still get in")
    mutating func ofAll() {
        for user in 1001...1050 { connect(UInt32(user)) }
        #expect(throws: ConnectionLimits.Reached.ofAll(1000)) { try limits.add(1) }
        #expect(connect(own) == 16)
        // The last connections are reserved for root.
        #expect(connect(root) == 16)
    }
}
