// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("Trust in signals from the bus") struct BusTrustTests {
    private static let service = "org.freedesktop.systemd1"
    private let now = ContinuousClock.now

    @Test("signals of the bus are always trusted, those of others only if they own the service's name")
    func senders() {
        var trust = BusTrust(service: Self.service)
        #expect(trust.judge("org.freedesktop.DBus", now: now) == .believe)
        #expect(trust.judge(":1.7", now: now) == .ignore)
        #expect(trust.judge(nil, now: now) == .ignore)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        #expect(trust.judge(":1.7", now: now) == .believe)
        #expect(trust.judge(":1.8", now: now) != .believe)
        #expect(trust.judge(nil, now: now) != .believe)
        #expect(trust.judge(Self.service, now: now) != .believe)
    }

    @Test("an error reply of the bus itself says nothing about the identity of the service")
    func errorOfTheBus() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: "org.freedesktop.DBus", toCallOf: 0)
        #expect(trust.judge(":1.8", now: now) == .ignore)
    }

    @Test(
        "when the name changes hands, its new owner is trusted and the old one no longer is, whatever it still replies")
    func owners() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        trust.noteChange([Self.service, ":1.7", ""])
        #expect(trust.judge(":1.7", now: now) != .believe)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        #expect(trust.judge(":1.7", now: now) != .believe)
        trust.noteChange([Self.service, "", ":1.9"])
        #expect(trust.judge(":1.9", now: now) == .believe)
        trust.noteReply(from: ":1.7", toCallOf: 1)
        #expect(trust.judge(":1.9", now: now) == .believe)
        #expect(trust.ownerCount == 2)
    }

    @Test("a change of another name, or one with too little information, changes nothing")
    func otherNames() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        trust.noteChange(["org.example", ":1.7", ":1.8"])
        trust.noteChange([Self.service, ":1.8"])
        trust.noteChange([])
        #expect(trust.judge(":1.7", now: now) == .believe)
        #expect(trust.judge(":1.8", now: now) != .believe)
    }

    @Test("an unusual amount of signals from the service is reported, at most once a second")
    func causedSignals() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        func reports(_ count: Int, at time: Duration) -> Int {
            (0..<count).count { _ in trust.noteCaused(now: now + time, limit: 500) }
        }
        #expect(reports(500, at: .zero) == 0)
        #expect(reports(500, at: .seconds(1)) == 0)
        #expect(reports(500, at: .milliseconds(1500)) == 1)
        #expect(reports(5000, at: .milliseconds(2400)) == 0)
        #expect(reports(501, at: .milliseconds(3500)) == 1)
        #expect(trust.judge(":1.8", now: now + .milliseconds(3600)) == .ignore)
    }

    @Test("signals of others are reported once a second, however many there are")
    func reports() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        #expect(trust.judge(":1.8", now: now) == .report)
        #expect(trust.judge(":1.8", now: now) == .ignore)
        #expect(trust.judge(":1.9", now: now + .milliseconds(999)) == .ignore)
        #expect(trust.judge(":1.9", now: now + .seconds(1)) == .report)
    }
}
