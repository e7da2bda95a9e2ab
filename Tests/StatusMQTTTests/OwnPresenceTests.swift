// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusMQTT

@Suite("What the daemon is told of the connection to the broker")
struct OwnPresenceTests {
    private var presence = OwnPresence(machine: "m", now: .zero)

    private mutating func told(at seconds: Int) -> HostState? {
        presence.take(now: .seconds(seconds), wall: Timestamp(milliseconds: 1000))?.state
    }

    @Test("it is told once a minute that there is one")
    mutating func beats() {
        presence.connected(now: .seconds(1), wall: Timestamp(milliseconds: 1000))
        #expect(told(at: 1) == .ready)
        #expect(told(at: 60) == nil)
        #expect(told(at: 61) == .ready)
    }

    @Test("it is told that there is none only after a while, and then once")
    mutating func lost() {
        #expect(told(at: 9) == nil)
        #expect(told(at: 10) == .lost)
        #expect(told(at: 100) == nil)
        presence.connected(now: .seconds(101), wall: Timestamp(milliseconds: 1000))
        #expect(told(at: 101) == .ready)
        presence.disconnected(now: .seconds(102))
        presence.disconnected(now: .seconds(111))
        #expect(told(at: 111) == nil)
        #expect(told(at: 112) == .lost)
        presence.connected(now: .seconds(113), wall: Timestamp(milliseconds: 1000))
        #expect(told(at: 113) == .ready)
    }

    @Test("after a long loss, it is told that there is one when the hosts have had time to come back")
    mutating func longLoss() {
        presence.connected(now: .zero, wall: Timestamp(milliseconds: 1000))
        _ = told(at: 0)
        presence.disconnected(now: .seconds(10))
        #expect(told(at: 20) == .lost)
        presence.connected(now: .seconds(200), wall: Timestamp(milliseconds: 1000))
        #expect(told(at: 229) == nil)
        #expect(told(at: 230) == .ready)
        #expect(told(at: 290) == .ready)
    }

    @Test("each connection has a larger number, also when the clock goes back")
    mutating func numbers() {
        presence.connected(now: .seconds(1), wall: Timestamp(milliseconds: 5000))
        let first = presence.take(now: .seconds(1), wall: Timestamp(milliseconds: 5000))?.epoch ?? 0
        presence.connected(now: .seconds(2), wall: Timestamp(milliseconds: 100))
        let second = presence.take(now: .seconds(2), wall: Timestamp(milliseconds: 100))?.epoch ?? 0
        #expect(first == 5000 && second == 5001)
    }

    @Test("a daemon that was away is told again")
    mutating func daemonIsBack() {
        presence.connected(now: .seconds(1), wall: Timestamp(milliseconds: 1000))
        #expect(told(at: 1) == .ready)
        presence.daemonIsBack(now: .seconds(5))
        #expect(told(at: 5) == .ready)
        presence.disconnected(now: .seconds(6))
        presence.daemonIsBack(now: .seconds(8))
        #expect(told(at: 8) == nil)
        #expect(told(at: 16) == .lost)
        presence.daemonIsBack(now: .seconds(20))
        #expect(told(at: 20) == .lost)
    }
}
