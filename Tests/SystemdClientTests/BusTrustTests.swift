// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("Whose signals from the bus are believed") struct BusTrustTests {
    private static let service = "org.freedesktop.systemd1"
    private let now = ContinuousClock.now

    @Test("those of the bus always, those of others only if they have the service's name")
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

    @Test("an error that the bus itself replies says nothing about who the service is")
    func errorOfTheBus() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: "org.freedesktop.DBus", toCallOf: 0)
        #expect(trust.judge(":1.8", now: now) == .ignore)
    }

    @Test("when the name changes hands, its new owner is believed, and the old one no more, whatever it still replies")
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

    @Test("another name that changes hands, or a change that says too little, changes nothing")
    func otherNames() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        trust.noteChange(["org.example", ":1.7", ":1.8"])
        trust.noteChange([Self.service, ":1.8"])
        trust.noteChange([])
        #expect(trust.judge(":1.7", now: now) == .believe)
        #expect(trust.judge(":1.8", now: now) != .believe)
    }

    @Test("that the service is made to send more than is usual is reported, at most once a second")
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

    @Test("that others send something is reported once a second, however much it is")
    func reports() {
        var trust = BusTrust(service: Self.service)
        trust.noteReply(from: ":1.7", toCallOf: 0)
        #expect(trust.judge(":1.8", now: now) == .report)
        #expect(trust.judge(":1.8", now: now) == .ignore)
        #expect(trust.judge(":1.9", now: now + .milliseconds(999)) == .ignore)
        #expect(trust.judge(":1.9", now: now + .seconds(1)) == .report)
    }
}
