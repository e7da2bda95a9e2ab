// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import TestSupport
import Testing

@testable import StatusMonitor

@Suite("The watcher of the selected server", .timeLimit(.minutes(5))) struct SelectionWatcherTests {
    private let fixture = MonitorFixture()
    private let reporter = RecordingReporter()

    private func watching(_ body: (SelectionWatcher) async throws -> Void) async throws {
        let watcher = SelectionWatcher(
            monitor: fixture.monitor, reporters: [reporter], isolatedTo: MainActor.shared)
        let task = Task { await watcher.run() }
        defer { task.cancel() }
        try await body(watcher)
        task.cancel()
        await task.value
    }

    /// Runs a watcher step by step, after one post of the selected server.
    ///
    /// `body` gets that server, the update, and a function that lets the watcher do everything that it can do now.
    private func stepping(_ body: (Server, StatusUpdate, () -> Void) async throws -> Void) async throws {
        let executor = StepExecutor()
        let watcher = SelectionWatcher(monitor: fixture.monitor, reporters: [reporter])
        let task = Task(executorPreference: executor) { await watcher.run() }
        let server = try #require(try fixture.monitor.select(name("a")).selection.server)
        executor.run()
        try fixture.post("old", to: "a")
        executor.run()
        let old = StatusUpdate(snapshot: ServerSnapshot(try fixture.monitor.state(of: name("a"))))
        try await body(server, old) { executor.run() }
        task.cancel()
        executor.run()
        await task.value
    }

    @Test("invariant 2: once a selection is reported, the reporters know the new server")
    func synchronousSelect() async throws {
        try await watching { watcher in
            for round in 0..<200 {
                let server = round.isMultiple(of: 2) ? "a" : "b"
                let change = try fixture.monitor.select(name(server))
                await watcher.report(change.selection)
                #expect(reporter.lines.last?.hasPrefix("\(server): ") == true)
            }
        }
    }

    @Test("invariant 3: a status posted while the selection moves is reported")
    func nothingIsMissed() async throws {
        try await watching { watcher in
            for round in 0..<200 {
                try fixture.monitor.select(name("a"))
                try fixture.post("\(round)", to: "a")
                await reporter.wait(for: "a: \(round)")
                let change = try fixture.monitor.select(nil)
                await watcher.report(change.selection)
                #expect(reporter.lines.last == "none")
            }
        }
    }

    @Test("a notification that a newer one overtook is not reported")
    func overtaken() async throws {
        try await stepping { server, old, step in
            try fixture.post("new", to: "a")
            step()
            fixture.bus.post(name: .didUpdateStatus, object: server, userInfo: old)
            step()
            #expect(reporter.lines == ["a: no status yet", "a: old", "a: new"])
        }
    }

    @Test("the status of another server is not reported")
    func othersAreQuiet() async throws {
        try await watching { watcher in
            await watcher.report(try fixture.monitor.select(name("a")).selection)
            try fixture.post("x", to: "b")
            try fixture.post("y", to: "a")
            await reporter.wait(for: "a: y")
            #expect(!reporter.lines.contains { $0.hasPrefix("b: ") })
        }
    }

    @Test("the newest state is reported even if an older notification overtook the last one")
    func overtakenByOlder() async throws {
        try await stepping { server, old, step in
            // Two threads post; the order of their notifications differs from that in the log. The watcher gets the
            // first notification; of the other two, the last is kept.
            try fixture.post("handed over", to: "a")
            try fixture.post("new", to: "a")
            server.post(old, to: fixture.bus)
            step()
            #expect(reporter.lines.last == "a: new")
        }
    }

    @Test("invariant 14: a probe comes through, and no reader of statuses ever sees it")
    func probe() async throws {
        let watch = try fixture.watch(.all)
        _ = watch.next()
        let probe = ProgressProbe(monitor: fixture.monitor)
        let probes = try probe.watch { _ in }
        _ = probes.next()
        for _ in 0..<100 {
            let revision = await probe.post()
            #expect(probes.next()?.cursor.revision == revision)
        }
        #expect(watch.next() == nil)
        #expect(fixture.monitor.states.count == 2)
    }

    @Test("every server posts didUpdateStatus for every change, selected or not")
    func notification() async throws {
        let server = try #require(try fixture.monitor.select(name("a")).selection.server)
        try fixture.monitor.select(name("b"))
        var updates = fixture.bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        for status in ["Signed Out", "Signed In", "Signed In", "Signed Out"] { try fixture.post(status, to: "a") }
        for status in ["Signed Out", "Signed In", "Signed Out"] { #expect(await updates.next()?.status == status) }
    }

    @Test("the selection is cleared when the selected server is removed, and its readers are notified")
    func removal() async throws {
        try fixture.monitor.select(name("a"))
        let follower = try fixture.watch()
        let pinned = try fixture.watch(.server(name("a")))
        _ = (follower.lines(), pinned.lines())
        try fixture.monitor.remove(name("a"))
        #expect(follower.lines() == ["selected -"])
        #expect(pinned.lines() == ["removed a no status yet"])
        #expect(throws: LedgerError.nothingSelected) { try fixture.monitor.selectedState() }
    }
}
