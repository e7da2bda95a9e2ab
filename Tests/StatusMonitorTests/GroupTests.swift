// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import Synchronization
import Testing

@testable import StatusMonitor

@Suite("Groups") struct GroupTests {
    private func fixture(
        _ names: [String] = ["a", "b", "c"], patterns: [String] = [], quorum: GroupRule.Quorum? = nil
    ) -> MonitorFixture {
        let fixture = MonitorFixture(servers: ["a", "b", "c", "group"])
        fixture.monitor.setGroups([name("group"): GroupRule(names: names.map(name), patterns: patterns, quorum: quorum)]
        )
        return fixture
    }

    /// Posts a level to each member, and returns the group's level and text.
    private func shown(_ fixture: MonitorFixture, _ levels: [String: Level]) throws -> String {
        for (server, level) in levels { try fixture.post("status", to: server, level: level) }
        return try shown(fixture)
    }

    private func shown(_ fixture: MonitorFixture, _ group: String = "group") throws -> String {
        let state = try fixture.monitor.state(of: name(group))
        return "\(state.status?.level.rawValue ?? state.phase.rawValue): \(state.headline)"
    }

    @Test("a group has the worst level of its members, and names those that are not ok, the worst first")
    func worst() throws {
        let fixture = fixture()
        #expect(try shown(fixture, ["a": .ok, "b": .ok, "c": .ok]) == "ok: 3 ok")
        #expect(try shown(fixture, ["b": .critical]) == "critical: 1 of 3 critical: b")
        #expect(try shown(fixture, ["c": .critical]) == "critical: 2 of 3 critical: b, c")
        #expect(
            try shown(fixture, ["a": .warning]) == "critical: 3 of 3 not ok: b (critical), c (critical), a (warning)")
        #expect(try shown(fixture, ["b": .unknown, "c": .ok]) == "unknown: 2 of 3 not ok: b (unknown), a (warning)")
        #expect(try shown(fixture, ["b": .ok]) == "warning: 1 of 3 warning: a")
        #expect(try shown(fixture, ["a": .ok]) == "ok: 3 ok")
    }

    @Test("a group is ok only once all members have a status, but a problem is shown at once")
    func pending() throws {
        let fixture = fixture()
        #expect(try shown(fixture) == "empty: no status yet: a, b, c")
        #expect(try shown(fixture, ["b": .ok]) == "empty: no status yet: a, c")
        #expect(try shown(fixture, ["c": .critical]) == "critical: 1 of 3 critical: c")
        #expect(try shown(fixture, ["c": .ok]) == "empty: no status yet: a")
        #expect(try shown(fixture, ["a": .ok]) == "ok: 3 ok")
    }

    @Test("a member that failed, is stale or does not exist is unknown, and a critical one stays critical")
    func unknown() throws {
        let fixture = fixture(["a", "b", "ghost"])
        #expect(try shown(fixture, ["a": .ok, "b": .ok]) == "unknown: 1 of 3 unknown: ghost (no such server)")
        try fixture.monitor.fail(name("b"), "no route")
        #expect(try shown(fixture) == "unknown: 2 of 3 unknown: b, ghost (no such server)")
        try fixture.post("down", to: "a", level: .critical)
        try fixture.monitor.fail(name("a"), "no route")
        #expect(
            try shown(fixture) == "critical: 3 of 3 not ok: a (critical), b (unknown), ghost (no such server)")
        fixture.monitor.add(ServerDefinition(name: name("ghost"), source: "push"))
        #expect(try shown(fixture, ["ghost": .ok, "b": .ok]) == "critical: 1 of 3 critical: a")
        try fixture.monitor.remove(name("ghost"))
        #expect(try shown(fixture, ["a": .ok]) == "unknown: 1 of 3 unknown: ghost (no such server)")
    }

    @Test("with “critical: all”, a group is critical when all members are down, and otherwise a warning")
    func all() throws {
        let fixture = fixture(quorum: .all)
        #expect(try shown(fixture, ["a": .critical]) == "warning: 1 of 3 critical: a")
        #expect(try shown(fixture, ["b": .critical, "c": .warning]).hasPrefix("warning: 3 of 3 not ok"))
        try fixture.monitor.fail(name("c"), "no route")
        #expect(try shown(fixture).hasPrefix("critical: 3 of 3 not ok"))
        for server in ["a", "b", "c"] { try fixture.post("status", to: server, level: .unknown) }
        #expect(try shown(fixture) == "unknown: 3 of 3 unknown: a, b, c")
    }

    @Test("with a number, so many members must be down")
    func number() throws {
        let fixture = fixture(quorum: .count(2))
        #expect(try shown(fixture, ["a": .critical, "b": .ok, "c": .ok]) == "warning: 1 of 3 critical: a")
        #expect(try shown(fixture, ["b": .critical]) == "critical: 2 of 3 critical: a, b")
    }

    @Test("a pattern has the servers that match and are no groups, also those that are added later")
    func patterns() throws {
        let fixture = fixture(["a"], patterns: ["*"])
        fixture.monitor.setGroups([
            name("group"): GroupRule(names: [name("a")], patterns: ["*"]), name("c"): GroupRule(names: [name("b")]),
        ])
        #expect(try shown(fixture, ["a": .ok, "b": .ok]) == "ok: 2 ok")
        fixture.monitor.add(ServerDefinition(name: name("d"), source: "push"))
        #expect(try shown(fixture) == "empty: no status yet: d")
        #expect(try shown(fixture, ["d": .warning]) == "warning: 1 of 3 warning: d")
        try fixture.monitor.remove(name("d"))
        #expect(try shown(fixture) == "ok: 2 ok")
        fixture.monitor.setGroups([name("group"): GroupRule(patterns: ["x*"])])
        #expect(try shown(fixture) == "unknown: no server matches “x*”; groups do not count")
    }

    @Test("at most five members are named")
    func many() throws {
        let servers = (1...8).map { "m\($0)" }
        let fixture = MonitorFixture(servers: servers + ["group"])
        fixture.monitor.setGroups([name("group"): GroupRule(patterns: ["m*"])])
        #expect(try shown(fixture) == "empty: no status yet: m1, m2, m3, m4, m5 and 3 more")
        let text = try shown(fixture, Dictionary(uniqueKeysWithValues: servers.map { ($0, .critical) }))
        #expect(text == "critical: 8 of 8 critical: m1, m2, m3, m4, m5 and 3 more")
    }

    @Test("the group's change follows its member's directly, before any reader can see the member's alone")
    func sameTurn() throws {
        let fixture = fixture(["a", "b"])
        let watch = try fixture.watch(.all)
        _ = watch.lines()
        try fixture.post("down", to: "a", level: .critical)
        #expect(watch.lines() == ["changed a down", "changed group 1 of 2 critical: a"])
        // A reader is woken outside the lock, and lists all servers.
        let seen = Mutex<[String]>([])
        let other = try fixture.watch(.all) { _ in
            seen.withLock { $0.append((try? shown(fixture)) ?? "") }
        }
        _ = other.lines()
        try fixture.post("up", to: "a")
        #expect(Set(seen.withLock { $0 }) == ["empty: no status yet: b"])
    }

    @Test("a change of text alone, or of another member's detail, is no event of the group")
    func quiet() throws {
        let fixture = fixture(["a", "b"])
        try fixture.post("up", to: "a")
        try fixture.post("up", to: "b")
        let watch = try fixture.watch(.all, updates: true)
        _ = watch.lines()
        try fixture.post("up for a day", to: "a")
        try fixture.post("up for a day", to: "a")
        try fixture.monitor.select(name("a"))
        #expect(watch.lines() == ["changed a up for a day", "updated a up for a day", "selected a up for a day"])
    }

    @Test("a group of groups changes once, after the groups between")
    func nested() throws {
        let fixture = MonitorFixture(servers: ["a", "top", "left", "right"])
        fixture.monitor.setGroups([
            name("top"): GroupRule(names: [name("left"), name("right"), name("a")]),
            name("left"): GroupRule(names: [name("a")]), name("right"): GroupRule(names: [name("a")]),
        ])
        try fixture.post("up", to: "a")
        let watch = try fixture.watch(.all)
        _ = watch.lines()
        try fixture.post("down", to: "a", level: .critical)
        let lines = watch.lines()
        #expect(lines.first == "changed a down")
        #expect(Set(lines[1...2]) == ["changed left 1 of 1 critical: a", "changed right 1 of 1 critical: a"])
        #expect(lines.dropFirst(3) == ["changed top 3 of 3 critical: a, left, right"])
    }

    @Test("listeners of the group's server are notified, and the post returns the member's revision")
    func notification() async throws {
        let fixture = fixture(["a"])
        let server = try #require(try fixture.monitor.select(name("group")).selection.server)
        var updates = fixture.bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        let revision = try fixture.monitor.post(try StatusText("down"), level: .critical, to: name("a"))
        #expect(await updates.next()?.status == "1 of 1 critical: a")
        #expect(try fixture.monitor.state(of: name("a")).revision == revision)
    }

    @Test("a group takes no event when groups are set again, and follows its new members when they differ")
    func reload() throws {
        let fixture = fixture(["a", "b"])
        #expect(try shown(fixture, ["a": .ok, "b": .critical, "c": .ok]) == "critical: 1 of 2 critical: b")
        let watch = try fixture.watch(.all)
        _ = watch.lines()
        fixture.monitor.suspendGroups()
        fixture.monitor.setGroups([name("group"): GroupRule(names: [name("a"), name("b")])])
        #expect(watch.lines() == [])
        fixture.monitor.setGroups([name("group"): GroupRule(names: [name("a"), name("c")])])
        #expect(watch.lines() == ["changed group 2 ok"])
    }

    @Test("a server names its group, the first by name, from the event with which it is added")
    func names() throws {
        let fixture = fixture(["a"], patterns: ["*"])
        #expect(try fixture.monitor.state(of: name("a")).group == name("group"))
        let watch = try fixture.watch(.all, updates: true)
        _ = watch.lines()
        fixture.monitor.add(ServerDefinition(name: name("d"), source: "push"))
        #expect(watch.next()?.server?.group == name("group"))
        _ = watch.lines()
        fixture.monitor.setGroups([
            name("group"): GroupRule(names: [name("a"), name("b")]), name("elder"): GroupRule(names: [name("a")]),
        ])
        #expect(
            watch.lines() == [
                "updated a no status yet", "updated c no status yet", "updated d no status yet",
                "changed group no status yet: a, b",
            ])
        let groups = try ["a", "b", "c"].map { try fixture.monitor.state(of: name($0)).group?.rawValue }
        #expect(groups == ["elder", "group", nil])
        fixture.monitor.setGroups([:])
        #expect(try fixture.monitor.state(of: name("a")).group == nil)
    }

    @Test("a loop, which the configuration refuses, ends nothing")
    func loop() throws {
        let fixture = MonitorFixture(servers: ["a", "b"])
        fixture.monitor.setGroups([name("a"): GroupRule(names: [name("b")]), name("b"): GroupRule(names: [name("a")])])
        try fixture.post("up", to: "a")
        #expect(try shown(fixture, "b") == "empty: no status yet")
    }
}
