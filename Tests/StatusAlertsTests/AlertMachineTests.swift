// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel
import Testing

@Suite("What receivers of alerts are told") struct AlertMachineTests {
    /// A host whose receivers take each delivery at once, and whose checks find what was last set.
    private struct Host {
        var machine = AlertMachine(at: .seconds(1000))
        var now = Duration.seconds(1000)
        /// What was told, in order: `mail: web critical, db ok`.
        var told: [String] = []
        var deliveries: [(receiver: String, alerts: [Alert])] = []

        init(_ receivers: [String: AlertReceiver] = ["mail": receiver()]) { machine.configure(receivers) }

        mutating func add(_ name: String, parent: String? = nil, isChecked: Bool = false, after: Int = 0) throws {
            var rule = AlertRule()
            rule.parent = parent.flatMap { ServerName($0) }
            (rule.isChecked, rule.after) = (isChecked, .seconds(after))
            machine.set(rule, for: try #require(ServerName(name)), at: now, wall: wall)
            try set(name, .ok)
        }

        mutating func set(_ name: String, _ level: Level, isSilenced: Bool = false) throws {
            machine.take(
                try #require(ServerName(name)), level: level, isDown: level == .critical, isSilenced: isSilenced,
                at: now, wall: wall)
        }

        var wall: Timestamp { Timestamp(milliseconds: Int64(now / .milliseconds(1))) }

        /// Lets time pass; receivers end each delivery in this way.
        mutating func pass(_ seconds: Int, _ end: DeliveryEnd = .delivered) {
            let last = now + .seconds(seconds)
            while true {
                let (actions, next) = machine.advance(to: now)
                for case .deliver(let receiver, let number, let alerts) in actions {
                    deliveries.append((receiver, alerts))
                    let texts = alerts.map { alert in
                        "\(alert.server) \(alert.kind == .reminder ? "still " : "")"
                            + (alert.kind == .removed ? "removed" : alert.level.rawValue)
                    }
                    told.append("\(receiver): \(texts.joined(separator: ", "))")
                    machine.ended(receiver, number: number, end, at: now, jitter: 0.5)
                }
                for case .recheck(let name) in actions { machine.rechecked(name) }
                if !actions.isEmpty { continue }
                guard let next, next <= last else { break }
                now = max(now, next)
            }
            now = last
        }

        mutating func takeTold() -> [String] {
            defer { told = [] }
            return told
        }
    }

    private static func receiver(
        levels: Set<Level> = [.warning, .critical, .unknown], batch: Int = 0, repetition: Duration? = nil
    ) -> AlertReceiver {
        var receiver = AlertReceiver()
        (receiver.levels, receiver.batch, receiver.repetition) = (levels, .seconds(batch), repetition)
        return receiver
    }

    @Test("a problem is told, each change of its level, and its end; all under one id")
    func problem() throws {
        var host = Host()
        try host.add("web")
        for level in [Level.warning, .critical, .ok] {
            try host.set("web", level)
            host.pass(60)
        }
        #expect(host.takeTold() == ["mail: web warning", "mail: web critical", "mail: web ok"])
        #expect(Set(host.deliveries.flatMap(\.alerts).map(\.id)).count == 1)
        try host.set("web", .critical)
        host.pass(60)
        #expect(Set(host.deliveries.flatMap(\.alerts).map(\.id)).count == 2)
    }

    @Test("what comes and goes while a delivery is collected is told to nobody; the rest comes in one call")
    func batch() throws {
        var host = Host(["mail": Self.receiver(batch: 10)])
        for number in 0..<40 { try host.add("s\(number)") }
        for number in 0..<40 { try host.set("s\(number)", .critical) }
        host.pass(5)
        try host.set("s7", .ok)
        host.pass(60)
        #expect(host.deliveries.map(\.alerts.count) == [39])
    }

    @Test("forty children of a parent that is down are told to nobody, and after its recovery only those still bad")
    func together() throws {
        var host = Host(["mail": Self.receiver(batch: 10)])
        try host.add("router", isChecked: true)
        for number in 0..<40 { try host.add("s\(number)", parent: "router", isChecked: true) }
        // The children are seen first, as in a check that runs a little earlier.
        for number in 0..<40 { try host.set("s\(number)", .critical) }
        host.pass(2)
        try host.set("router", .critical)
        host.pass(600)
        #expect(host.takeTold() == ["mail: router critical"])
        try host.set("router", .ok)
        for number in 0..<40 where number != 7 { try host.set("s\(number)", .ok) }
        host.pass(600)
        #expect(host.takeTold() == ["mail: s7 critical, router ok"])
    }

    @Test("a parent that is removed holds its children no longer")
    func removedParent() throws {
        var host = Host()
        try host.add("router", isChecked: true)
        try host.add("web", parent: "router", isChecked: true)
        try host.set("router", .critical)
        try host.set("web", .critical)
        host.pass(60)
        #expect(host.takeTold() == ["mail: router critical"])
        host.machine.remove(try #require(ServerName("router")), at: host.now)
        host.pass(60)
        #expect(host.takeTold().joined(separator: "; ").split(separator: " ").contains("web"))
    }

    @Test("a silenced server is told to nobody; after the silence, only what still differs is")
    func silence() throws {
        var host = Host()
        try host.add("web")
        try host.add("db")
        for name in ["web", "db"] { try host.set(name, .ok, isSilenced: true) }
        for name in ["web", "db"] { try host.set(name, .critical, isSilenced: true) }
        host.pass(600)
        try host.set("db", .ok, isSilenced: true)
        #expect(host.takeTold() == [])
        for (name, level) in [("web", Level.critical), ("db", .ok)] { try host.set(name, level) }
        host.pass(60)
        #expect(host.takeTold() == ["mail: web critical"])
    }

    @Test("a level that a receiver does not want is not told, but the next one is, even if it was told before")
    func unwanted() throws {
        var host = Host(["phone": Self.receiver(levels: [.critical])])
        try host.add("web")
        for level in [Level.critical, .warning, .critical, .warning, .ok] {
            try host.set("web", level)
            host.pass(60)
        }
        #expect(host.takeTold() == ["phone: web critical", "phone: web critical", "phone: web ok"])
        for level in [Level.warning, .ok] {
            try host.set("web", level)
            host.pass(60)
        }
        #expect(host.takeTold() == [])
    }

    @Test("a delivery that failed is tried again for ever, at longer and longer pauses, with what is true by then")
    func retries() throws {
        var host = Host()
        try host.add("web")
        try host.set("web", .critical)
        host.pass(3600, .refused)
        #expect(host.takeTold().count == 10)
        host.pass(86_400, .refused)
        #expect((90...100).contains(host.takeTold().count))
        try host.set("web", .warning)
        host.pass(1200)
        #expect(host.takeTold() == ["mail: web warning"])
        // A problem that nobody was told has no recovery either.
        try host.set("web", .ok)
        host.pass(60)
        _ = host.takeTold()
        try host.set("web", .critical)
        host.pass(60, .refused)
        try host.set("web", .ok)
        _ = host.takeTold()
        host.pass(86_400)
        #expect(host.takeTold() == [])
    }

    @Test("a level must last, a recovery too if that is configured")
    func durations() throws {
        var host = Host()
        try host.add("web", after: 60)
        try host.set("web", .critical)
        host.pass(59)
        try host.set("web", .ok)
        host.pass(600)
        #expect(host.takeTold() == [])
        try host.set("web", .critical)
        host.pass(61)
        #expect(host.takeTold() == ["mail: web critical"])
    }

    @Test("an open problem is told again if that is configured, and a server that is removed is told as removed")
    func reminders() throws {
        var host = Host(["mail": Self.receiver(repetition: .seconds(3600))])
        try host.add("web")
        try host.set("web", .critical)
        host.pass(7300)
        #expect(host.takeTold() == ["mail: web critical", "mail: web still critical", "mail: web still critical"])
        host.machine.remove(try #require(ServerName("web")), at: host.now)
        host.pass(60)
        #expect(host.takeTold() == ["mail: web removed"])
        host.pass(86_400)
        #expect(host.takeTold() == [])
    }

    @Test(
        "a problem that is there before the first receiver is told, but only once it has lasted"
    )
    func firstReceiver() throws {
        var host = Host([:])
        var rule = AlertRule()
        rule.after = .seconds(60)
        let web = try #require(ServerName("web"))
        host.machine.set(rule, for: web, at: host.now, wall: host.wall)
        host.now += .seconds(600)
        try host.set("web", .critical)
        host.machine.configure(["mail": Self.receiver()])
        host.pass(59)
        #expect(host.takeTold() == [])
        host.pass(2)
        #expect(host.takeTold() == ["mail: web critical"])
        // Without receivers it forgets the servers, which it is told again.
        host.machine.configure([:])
        host.machine.configure(["mail": Self.receiver()])
        host.machine.set(rule, for: web, at: host.now, wall: host.wall)
        try host.set("web", .ok)
        host.pass(60)
        #expect(host.takeTold() == ["mail: web ok"])
    }

    @Test("an open problem of a server that has no status any more is withdrawn, unless a new one comes soon")
    func silentServer() throws {
        for isLate in [true, false] {
            var host = Host()
            try host.add("web")
            try host.set("web", .critical)
            host.pass(60)
            host.machine.take(
                try #require(ServerName("web")), level: nil, isDown: false, isSilenced: false, at: host.now,
                wall: host.wall)
            host.pass(isLate ? 11 : 5)
            try host.set("web", .critical)
            host.pass(60)
            #expect(
                host.takeTold()
                    == (isLate
                        ? ["mail: web critical", "mail: web removed", "mail: web critical"] : ["mail: web critical"]))
        }
    }

    @Test("the end of a delivery to a receiver that was removed meanwhile does not count for the next one")
    func formerDelivery() throws {
        var host = Host()
        try host.add("web")
        try host.set("web", .critical)
        guard case .deliver(_, let first, _) = host.machine.advance(to: host.now).actions.first else {
            Issue.record("nothing is due")
            return
        }
        host.machine.configure([:])
        host.machine.configure(["mail": Self.receiver()])
        try host.set("web", .ok)
        guard case .deliver(_, let second, let alerts) = host.machine.advance(to: host.now).actions.first else {
            Issue.record("the recovery is not due")
            return
        }
        #expect(alerts.map(\.level) == [.ok])
        host.machine.ended("mail", number: first, .delivered, at: host.now, jitter: 0)
        #expect(host.machine.deliveries(to: "mail").isRunning)
        host.machine.ended("mail", number: second, .delivered, at: host.now, jitter: 0)
        host.pass(60)
        #expect(host.takeTold() == [])
    }

    @Test("what is not told yet is shown with its reason")
    func untold() throws {
        var host = Host(["mail": Self.receiver(batch: 10)])
        try host.add("due")
        try host.add("silenced")
        try host.add("young", after: 60)
        try host.add("parent", isChecked: true)
        try host.add("child", parent: "parent")
        for name in ["due", "silenced", "young", "parent", "child"] {
            try host.set(name, .critical, isSilenced: name == "silenced")
        }
        let holds = host.machine.untold("mail", at: host.now).map { ($0.server.rawValue, $0.hold) }
        #expect(
            Dictionary(uniqueKeysWithValues: holds) == [
                "due": nil, "parent": nil, "silenced": .silenced, "young": .until(host.now + .seconds(60)),
                "child": .parent(try #require(ServerName("parent"))),
            ])
        #expect(host.machine.untoldCounts("mail", at: host.now) == (due: 2, held: 3))
        #expect(host.machine.untold("nobody", at: host.now).isEmpty)
    }
}
