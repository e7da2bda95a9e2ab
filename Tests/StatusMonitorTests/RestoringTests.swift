// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import Synchronization
import Testing

@testable import StatusMonitor

@Suite("A restarted monitor")
struct RestoringTests {
    /// Two runs of a monitor with one clock.
    private struct Runs {
        let clock = ManualTime()
        let first: StatusMonitor

        init() {
            let clock = clock
            first = StatusMonitor(notesUnsaved: true, capacities: 8...8) { clock.now }
        }

        /// The data that a clean stop saves.
        func memory(isOfThisBoot: Bool = true) -> LedgerMemory {
            let (entries, log) = first.entries
            let names = first.states.map(\.name)
            return LedgerMemory(
                log: log, entries: entries, servers: first.save(names).compactMap { $0 }, isOfThisBoot: isOfThisBoot)
        }

        func restart(isOfThisBoot: Bool = true) -> StatusMonitor { restart(with: memory(isOfThisBoot: isOfThisBoot)) }

        func restart(with memory: LedgerMemory) -> StatusMonitor {
            let clock = clock
            return StatusMonitor(restoring: memory, notesUnsaved: true, capacities: 8...8) { clock.now }
        }

        func add(_ server: String, timeToLive: Duration? = nil, interval: Duration? = nil) {
            first.add(
                ServerDefinition(name: name(server), source: "push", timeToLive: timeToLive, interval: interval))
        }

        func post(_ text: String, to server: String) throws {
            try first.post(try StatusText(text), level: .ok, to: name(server))
        }
    }

    private final class ManualTime: Sendable {
        private let times = Mutex((wall: Int64(1_000_000), boot: Int64(500_000)))

        var now: Moment {
            times.withLock { Moment(wall: Timestamp(milliseconds: $0.wall), boot: .milliseconds($0.boot)) }
        }

        func advance(by milliseconds: Int64) {
            times.withLock { $0 = ($0.wall + milliseconds, $0.boot + milliseconds) }
        }

        /// The machine boots: `milliseconds` later, its boot clock shows only `boot`.
        func reboot(after milliseconds: Int64, boot: Int64) {
            times.withLock { $0 = ($0.wall + milliseconds, boot) }
        }
    }

    @Test("has the selection, and each status with its times, marked as from before the restart")
    func statuses() throws {
        let runs = Runs()
        runs.add("a")
        runs.add("b")
        try runs.post("Signed In", to: "a")
        try runs.first.select(name("a"))
        let before = try runs.first.state(of: name("a"))
        runs.clock.advance(by: 1000)
        let second = runs.restart()
        var after = try second.selectedState()
        #expect(after.isRestored)
        #expect(after.markedHeadline == "Signed In (before restart)")
        after.isRestored = false
        #expect(after == before)
        #expect(try second.state(of: name("b")).isRestored == false)
        #expect(second.cursor == runs.first.cursor)
    }

    @Test("continues a stream where it was, without an event of its own")
    func streams() throws {
        let runs = Runs()
        runs.add("a")
        try runs.post("1", to: "a")
        let seen = runs.first.cursor
        let second = runs.restart()
        let watch = try second.watch(.all, since: seen) { _ in }
        #expect(watch.lines() == [])
        try second.post(try StatusText("2"), level: .ok, to: name("a"))
        #expect(watch.lines() == ["changed a 2"])
    }

    @Test("continues groups without an event, until their members have reported again")
    func groups() throws {
        let runs = Runs()
        for server in ["a", "b", "group"] { runs.add(server) }
        let rules = [name("group"): GroupRule(names: [name("a"), name("b")])]
        runs.first.setGroups(rules)
        for server in ["a", "b"] { try runs.post("up", to: server) }
        let second = runs.restart()
        let watch = try second.watch(.all, updates: true) { _ in }
        _ = watch.lines()
        second.setGroups(rules)
        #expect(watch.lines() == [])
        #expect(try second.state(of: name("group")).isRestored)
        try second.post(try StatusText("up"), level: .ok, to: name("a"))
        #expect(watch.lines() == ["changed a up"])
        try second.post(try StatusText("up"), level: .ok, to: name("b"))
        #expect(watch.lines() == ["changed b up", "changed group 2 ok"])
        #expect(try !second.state(of: name("group")).isRestored)
    }

    @Test("gives readers the events that they had not read before")
    func unreadEvents() throws {
        let runs = Runs()
        runs.add("a")
        try runs.post("1", to: "a")
        let seen = runs.first.cursor
        try runs.post("2", to: "a")
        try runs.first.select(name("a"))
        let second = runs.restart()
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["changed a 2", "selected a 2"])
        #expect(try second.watch(.selected, since: seen) { _ in }.lines() == ["selected a 2"])
    }

    @Test("starts a reader with a gap only if the log has lost events that the reader needs")
    func gaps() throws {
        let runs = Runs()
        runs.add("a")
        runs.add("quiet")
        let seen = runs.first.cursor
        for count in 1...12 { try runs.post("\(count)", to: "a") }
        let second = runs.restart()
        #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap -", "snapshot a 12"])
        #expect(try second.watch(.server(name("quiet")), since: seen) { _ in }.lines() == [])
    }

    @Test("invariant 6: after a cursor from before a crash, a stream begins with an unknown gap and a snapshot")
    func crash() throws {
        let runs = Runs()
        runs.add("a")
        runs.add("quiet")
        try runs.post("1", to: "a")
        var memory = runs.memory()
        (memory.isComplete, memory.entries) = (false, [])
        try runs.post("lost", to: "a")
        let second = runs.restart(with: memory)
        for seen in [Cursor(epoch: memory.log.epoch, revision: memory.log.revision), runs.first.cursor] {
            #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap -", "snapshot a 1"])
            let watch = try second.watch(.server(name("quiet")), since: seen) { _ in }
            #expect(watch.next()?.cursor.revision == -1, "a client that leaves before the snapshot gets the gap again")
            #expect(watch.lines() == ["snapshot quiet no status yet"])
        }
        let seen = second.cursor
        try second.post(try StatusText("2"), level: .ok, to: name("a"))
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["changed a 2"])
    }

    @Test("invariant 4: after a crash, events are newer than all states, even states saved after the log's position")
    func laterStates() throws {
        let runs = Runs()
        runs.add("a")
        for count in 1...3 { try runs.post("\(count)", to: "a") }
        var memory = runs.memory()
        (memory.isComplete, memory.entries, memory.log.revision) = (false, [], 1)
        let second = runs.restart(with: memory)
        let before = try second.state(of: name("a")).revision
        try second.post(try StatusText("4"), level: .ok, to: name("a"))
        #expect(try second.state(of: name("a")).revision > before)
    }

    @Test("removes the mark with the first report, and notifies listeners")
    func firstReport() async throws {
        let runs = Runs()
        runs.add("a")
        try runs.post("Signed In", to: "a")
        try runs.first.select(name("a"))
        let second = runs.restart()
        let watch = try second.watch(.all, since: runs.first.cursor) { _ in }
        let server = try #require(second.selection.server)
        var updates = second.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        try second.post(try StatusText("Signed In"), level: .ok, to: name("a"))
        #expect(watch.lines() == ["changed a Signed In"])
        try second.post(try StatusText("Signed In"), level: .ok, to: name("a"))
        #expect(watch.lines() == [], "only the first")
        #expect(await updates.next()?.state.markedHeadline == "Signed In")
    }

    @Test("counts the time in which it did not run, even over a boot")
    func timeDown() throws {
        for isOfThisBoot in [true, false] {
            let runs = Runs()
            runs.add("a", timeToLive: .seconds(60))
            try runs.post("Signed In", to: "a")
            let memory = runs.memory(isOfThisBoot: isOfThisBoot)
            if isOfThisBoot { runs.clock.advance(by: 50_000) } else { runs.clock.reboot(after: 50_000, boot: 2000) }
            let second = runs.restart(with: memory)
            second.expire()
            #expect(try second.state(of: name("a")).isStale == false)
            runs.clock.advance(by: 9999)
            second.expire()
            #expect(try second.state(of: name("a")).isStale == false)
            runs.clock.advance(by: 1)
            second.expire()
            #expect(try second.state(of: name("a")).isStale)
        }
    }

    @Test(
        "gives a checked server whose time to live ends before its next check one interval, without a message"
    )
    func shortGrace() throws {
        let runs = Runs()
        runs.add("checked", timeToLive: .seconds(60), interval: .seconds(40))
        runs.add("posted", timeToLive: .seconds(60))
        for server in ["checked", "posted"] { try runs.post("Signed In", to: server) }
        runs.clock.advance(by: 50_000)
        let second = runs.restart()
        runs.clock.advance(by: 39_000)
        second.expire()
        #expect(try !second.state(of: name("checked")).isStale)
        #expect(try second.state(of: name("checked")).message == nil)
        #expect(try second.state(of: name("posted")).isStale, "it could have reported")
        runs.clock.advance(by: 1000)
        second.expire()
        #expect(try second.state(of: name("checked")).isStale)
    }

    @Test("keeps the reason of a failed server that is overdue")
    func overdueFailure() throws {
        let runs = Runs()
        runs.add("a", timeToLive: .seconds(60), interval: .seconds(10))
        try runs.post("Signed In", to: "a")
        try runs.first.fail(name("a"), "No such file")
        let memory = runs.memory()
        runs.clock.advance(by: 100_000)
        let second = runs.restart(with: memory)
        #expect(try second.state(of: name("a")).message == "No such file")
        runs.clock.advance(by: 10_000)
        second.expire()
        let state = try second.state(of: name("a"))
        #expect(state.isStale)
        #expect(state.message == "No such file")
    }

    @Test(
        "shows why an overdue server is not stale once its failure ends, if it can become stale",
        arguments: [true, false])
    func endedFailure(hasTimeToLive: Bool) throws {
        let runs = Runs()
        runs.add("a", timeToLive: .seconds(60), interval: .seconds(10))
        try runs.post("Signed In", to: "a")
        try runs.first.fail(name("a"), because: "it is not configured now")
        let memory = runs.memory()
        runs.clock.advance(by: 100_000)
        let second = runs.restart(with: memory)
        try second.redefine(
            ServerDefinition(
                name: name("a"), source: "push", timeToLive: hasTimeToLive ? .seconds(60) : nil,
                interval: .seconds(10)), isOfNewSource: false)
        let message = try second.state(of: name("a")).message
        #expect(message?.hasPrefix("its time to live ended") == (hasTimeToLive ? true : nil))
    }

    @Test("gives an overdue server one interval to report, once")
    func grace() throws {
        let runs = Runs()
        runs.add("a", timeToLive: .seconds(60), interval: .seconds(10))
        try runs.post("Signed In", to: "a")
        var memory = runs.memory()
        runs.clock.advance(by: 100_000)
        let second = runs.restart(with: memory)
        second.expire()
        let state = try second.state(of: name("a"))
        #expect(!state.isStale)
        #expect(
            state.message == "its time to live ended while statusd was down; it becomes stale 10s after the restart")
        runs.clock.advance(by: 5000)
        memory.servers = second.save(second.takeUnsaved().names).compactMap { $0 }
        let third = runs.restart(with: memory)
        runs.clock.advance(by: 5000)
        third.expire()
        #expect(try third.state(of: name("a")).isStale)
        #expect(try third.state(of: name("a")).message == nil)
        let fourth = runs.restart(with: memory)
        fourth.expire()
        #expect(try fourth.state(of: name("a")).isStale, "the grace ended while it was down")
        try second.touch(name("a"))
        #expect(try second.state(of: name("a")).message == nil)
    }
}

extension RestoringTests {
    @Test("saves all servers after a boot, because their times count from the new boot")
    func savedAgain() {
        let runs = Runs()
        for server in ["a", "b"] { runs.add(server) }
        #expect(runs.restart(isOfThisBoot: false).takeUnsaved().names.count == 2)
        #expect(runs.restart(isOfThisBoot: true).takeUnsaved().names.isEmpty)
    }
}

@Suite("Changes to save")
struct UnsavedTests {
    @Test("are noted once for each server until they are taken")
    func names() throws {
        let monitor = StatusMonitor(notesUnsaved: true)
        let calls = Mutex(0)
        monitor.scheduleSaving { calls.withLock { $0 += 1 } }
        for server in ["a", "b"] { monitor.add(ServerDefinition(name: name(server), source: "push")) }
        try monitor.post(try StatusText("1"), to: name("a"))
        try monitor.remove(name("b"))
        #expect(calls.withLock { $0 } == 1)
        let (names, log) = monitor.takeUnsaved()
        #expect(names.map(\.rawValue) == ["a", "b"])
        #expect(log.revision == monitor.cursor.revision)
        #expect(monitor.save(names).map { $0?.state.headline } == ["1", nil])
        #expect(monitor.takeUnsaved().names.isEmpty)
        try monitor.touch(name("a"))
        #expect(calls.withLock { $0 } == 2)
        #expect(monitor.takeUnsaved().names.map(\.rawValue) == ["a"])
    }

    @Test("include changes without an event: a sign of life, a selection of nothing, a new time to live")
    func quietChanges() throws {
        let monitor = StatusMonitor(notesUnsaved: true)
        let calls = Mutex(0)
        monitor.scheduleSaving { calls.withLock { $0 += 1 } }
        monitor.add(ServerDefinition(name: name("a"), source: "push"))
        try monitor.select(name("a"))
        var expected = 1
        let changes: [() throws -> Void] = [
            { try monitor.touch(name("a")) }, { try monitor.select(nil) },
            { try monitor.setTimeToLive(.seconds(1), of: name("a")) },
            {
                try monitor.redefine(
                    ServerDefinition(name: name("a"), source: "push", timeToLive: .seconds(9)))
            },
        ]
        for change in changes {
            _ = monitor.save(monitor.takeUnsaved().names)
            try change()
            expected += 1
            #expect(calls.withLock { $0 } == expected)
        }
    }

    @Test("are noted again if they could not be saved")
    func failure() throws {
        let monitor = StatusMonitor(notesUnsaved: true)
        let calls = Mutex(0)
        monitor.scheduleSaving { calls.withLock { $0 += 1 } }
        monitor.add(ServerDefinition(name: name("a"), source: "push"))
        let names = monitor.takeUnsaved().names
        _ = monitor.save(names)
        monitor.keepUnsaved(names + [name("gone")])
        #expect(calls.withLock { $0 } == 2)
        #expect(monitor.takeUnsaved().names.map(\.rawValue) == ["a", "gone"])
    }
}
