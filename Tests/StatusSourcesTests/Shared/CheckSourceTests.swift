// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Foundation
import NotificationStreams
import SourceKinds
import StatusModel
import StatusMonitor
import TestSupport
import Testing

@testable import StatusSources

@Suite("A server with a check", .timeLimit(.minutes(5)))
@EventLoop struct CheckSourceTests {
    private let monitor = StatusMonitor()
    private let check = GateCheck()
    private let clock = ManualClock()
    private let disk: ServerName

    init() throws {
        disk = try #require(ServerName("disk"))
        monitor.add(ServerDefinition(name: disk, source: "exec", isRefreshable: true))
    }

    private func makeSource(failures: Int = 1) -> CheckSource { makeSource(check, failures: failures) }

    private func makeSource(
        _ check: GateCheck, interval: Duration = .seconds(60), failures: Int = 1,
        budget: CheckBudget = CheckBudget(CheckLimits())
    ) -> CheckSource {
        let order = SourceOrder(
            server: disk, schedule: CheckSchedule(interval: interval, failures: failures),
            environment: .test(monitor, budget: budget))
        return CheckSource(check, order, clock: clock)
    }

    /// Runs a source for as long as `body` takes.
    private func with(
        _ source: CheckSource, _ body: @escaping @EventLoop @Sendable () async throws -> Void
    ) async throws {
        let run: @EventLoop @Sendable () async -> Void = { await source.run() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(operation: run)
            try await body()
            source.close()
        }
    }

    private func state(where isWanted: @escaping @Sendable (ServerState) -> Bool) async -> ServerState? {
        await monitor.wait(for: disk, where: isWanted).state()
    }

    @Test("the first check runs once, however many callers request it")
    func loadsOnce() async throws {
        let source = makeSource()
        let (check, monitor, disk) = (check, monitor, disk)
        try await with(source) {
            await check.began(1)
            let callers = (0..<100).map { _ in source.requestRefresh() }
            _ = await monitor.wait(for: disk) { $0.isRefreshing }.state()
            check.end(.ok, "DISK OK")
            for caller in callers { await caller.value }
            #expect(check.begun == 1)
            let state = try monitor.state(of: disk)
            #expect(state.status?.text.rawValue == "DISK OK")
            #expect(!state.isRefreshing)
        }
    }

    @Test("the check is repeated after its interval, and never overlaps")
    func interval() async throws {
        let (check, clock) = (check, clock)
        try await with(makeSource()) {
            await check.began(1)
            for run in 2...5 {
                check.end(.ok, "DISK OK")
                await clock.sleeper()
                clock.advance(by: .seconds(66))
                await check.began(run)
            }
            #expect(check.most == 1)
        }
    }

    @Test("a check is cancelled when the last caller leaves, not earlier")
    func lastOneLeaves() async throws {
        let source = makeSource()
        let (check, clock, monitor, disk) = (check, clock, monitor, disk)
        try await with(source) {
            await check.began(1)
            check.end(.ok, "DISK OK")
            await clock.sleeper()
            let callers = (0..<100).map { _ in source.requestRefresh() }
            await check.began(2)
            _ = await monitor.wait(for: disk) { $0.isRefreshing }.state()
            for caller in callers.dropLast() { caller.cancel() }
            for caller in callers.dropLast() { await caller.value }
            #expect(check.cancelled == 0)
            let isRefreshing = try monitor.state(of: disk).isRefreshing
            #expect(isRefreshing)
            callers.last?.cancel()
            _ = await monitor.wait(for: disk) { !$0.isRefreshing }.state()
            await callers.last?.value
            #expect(check.cancelled == 1)
            let phase = try monitor.state(of: disk).phase
            #expect(phase == .loaded)
        }
        #expect(check.begun == 2)
    }

    @Test("a caller that leaves does not cancel a scheduled check")
    func scheduleStays() async throws {
        let source = makeSource()
        let (check, monitor, disk) = (check, monitor, disk)
        try await with(source) {
            await check.began(1)
            let caller = source.requestRefresh()
            _ = await monitor.wait(for: disk) { $0.isRefreshing }.state()
            caller.cancel()
            _ = await monitor.wait(for: disk) { !$0.isRefreshing }.state()
            #expect(check.cancelled == 0)
            check.end(.ok, "DISK OK")
            _ = await monitor.wait(for: disk) { $0.phase == .loaded }.state()
        }
    }

    @Test("a level gets worse after several failures in a row; until then a message shows them")
    func failures() async throws {
        let source = makeSource(failures: 3)
        let (check, clock, monitor, disk) = (check, clock, monitor, disk)
        try await with(source) {
            await check.began(1)
            check.end(.ok, "connected")
            for run in 2...4 {
                await clock.sleeper()
                let caller = source.requestRefresh()
                await check.began(run)
                check.end(.critical, "connection refused")
                await caller.value
                let state = try monitor.state(of: disk)
                #expect(state.status?.level == (run < 4 ? .ok : .critical))
                let message = "connection refused [critical]; \(run - 1) of 3 before it counts"
                #expect(state.message == (run < 4 ? message : nil))
            }
        }
    }

    @Test("a failed check keeps the status")
    func fails() async throws {
        let (check, clock, monitor, disk) = (check, clock, monitor, disk)
        try await with(makeSource()) {
            await check.began(1)
            check.end(.ok, "DISK OK")
            await clock.sleeper()
            clock.advance(by: .seconds(66))
            await check.began(2)
            check.end(.failure(CheckFailure("timed out after 10s")))
            let state = await monitor.wait(for: disk) { $0.phase == .failed }.state()
            #expect(state?.status?.text.rawValue == "DISK OK")
            #expect(state?.message == "timed out after 10s")
        }
    }

    @Test("a closed source posts nothing more, and nothing runs after run() has ended")
    func closed() async throws {
        let source = makeSource()
        let (check, monitor, disk) = (check, monitor, disk)
        try await with(source) { await check.began(1) }
        #expect(check.cancelled == 1)
        #expect(try monitor.state(of: disk).phase == .loading)
    }

    @Test("closing a source releases its callers and cancels the check")
    func closedWhileAsked() async throws {
        let source = makeSource()
        let (check, monitor, disk) = (check, monitor, disk)
        try await with(source) {
            await check.began(1)
            let callers = (0..<10).map { _ in source.requestRefresh() }
            _ = await monitor.wait(for: disk) { $0.isRefreshing }.state()
            source.close()
            for caller in callers { await caller.value }
            let isRefreshing = try monitor.state(of: disk).isRefreshing
            #expect(!isRefreshing)
        }
        #expect(check.cancelled == 1)
    }

    @Test(
        "only a check that waits for a slot longer than its interval is reported, with the limit to raise",
        arguments: [(0, 1, 16, ["checks"]), (0, 4, 1, ["processes"]), (3600, 4, 1, [])])
    func delay(interval: Int, checks: Int, processes: Int, keys: [String]) async throws {
        var delayed: [String] = []
        let limits = CheckLimits(checks: checks, processes: processes)
        let budget = CheckBudget(limits) { [disk] server, _, key in delayed.append(server == disk ? key : "\(server)") }
        let source = makeSource(check, interval: .seconds(interval), budget: budget)
        let other = GateCheck()
        // Unstructured: the test continues meanwhile, and awaits or cancels it.
        let first = Task { @EventLoop in try await budget.run(CheckBudget.Claim(.process)) { try await other.run() } }
        await other.began(1)
        let check = check
        try await with(source) {
            while budget.waiting == 0 { await Task.yield() }
            other.end(.ok, "")
            await check.began(1)
            check.end(.ok, "")
        }
        _ = try await first.value
        #expect(delayed == keys)
    }

    @Test("a result that does not count yet is shown as a message, and ends an earlier failure")
    func heldAfterFailure() async throws {
        let source = makeSource(failures: 3)
        let (check, clock, monitor, disk) = (check, clock, monitor, disk)
        try await with(source) {
            await check.began(1)
            check.end(.ok, "DISK OK")
            await clock.sleeper()
            for (run, result) in [
                (2, Result<CheckResult, CheckFailure>.failure(CheckFailure("timed out after 1s"))),
                (3, .success(CheckResult(.critical, "DISK FULL"))),
            ] {
                let caller = source.requestRefresh()
                await check.began(run)
                check.end(result)
                await caller.value
            }
            let state = try monitor.state(of: disk)
            #expect(state.phase == .loaded)
            #expect(state.status?.level == .ok)
            #expect(state.message == "DISK FULL [critical]; 1 of 3 before it counts")
        }
    }

    /// Makes a source with a check that reports changes.
    private func makeChangingSource(failures: Int) -> (CheckSource, GateCheck, AsyncStream<Void>.Continuation) {
        let (stream, changes) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let check = GateCheck(changes: stream)
        let source = makeSource(check, interval: .seconds(3600), failures: failures)
        return (source, check, changes)
    }

    @Test("a change causes a check at once, but not more than once a second")
    func changes() async throws {
        let (source, check, changes) = makeChangingSource(failures: 1)
        let clock = clock
        try await with(source) {
            await check.began(1)
            check.end(.ok, "")
            await clock.sleeper()
            changes.yield()
            await check.began(2)
            check.end(.ok, "")
            await clock.sleeper(2)
            for _ in 0..<100 { changes.yield() }
            #expect(check.begun == 2)
            clock.advance(by: .seconds(1))
            await check.began(3)
            check.end(.ok, "")
            await clock.sleeper(2)
            clock.advance(by: .seconds(1))
            changes.yield()
            await check.began(4)
            #expect(check.begun == 4)
            check.end(.ok, "")
        }
    }

    @Test("checks that changes caused count as one; scheduled checks among them count")
    func countedChanges() async throws {
        let (source, check, changes) = makeChangingSource(failures: 3)
        let (clock, monitor, disk) = (clock, monitor, disk)
        try await with(source) {
            await check.began(1)
            check.end(.ok, "")
            await clock.sleeper()
            for run in 2...4 {
                changes.yield()
                await check.began(run)
                check.end(.critical, "FULL")
                await clock.sleeper(2)
                let message = try monitor.state(of: disk).message
                #expect(message == "FULL [critical]; 1 of 3 before it counts")
                clock.advance(by: .seconds(1))
            }
            for (run, level) in [(5, Level.ok), (6, .critical)] {
                clock.advance(by: .seconds(3960))
                await check.began(run)
                check.end(.critical, "FULL")
                await clock.sleeper()
                let status = try monitor.state(of: disk).status
                #expect(status?.level == level)
            }
        }
    }

    @Test("a cancelled refresh does not make a check count that a change caused")
    func cancelledRefresh() async throws {
        let (source, check, changes) = makeChangingSource(failures: 3)
        let (clock, monitor, disk) = (clock, monitor, disk)
        try await with(source) {
            await check.began(1)
            check.end(.ok, "")
            await clock.sleeper()
            changes.yield()
            await check.began(2)
            check.end(.critical, "FULL")
            await clock.sleeper(2)
            let caller = source.requestRefresh()
            await check.began(3)
            caller.cancel()
            await caller.value
            clock.advance(by: .seconds(1))
            changes.yield()
            await check.began(4)
            check.end(.critical, "FULL")
            await clock.sleeper(2)
            let message = try monitor.state(of: disk).message
            #expect(message == "FULL [critical]; 1 of 3 before it counts")
        }
    }

    @Test("the text of a latency changes only if the latency changes much")
    func latency() async throws {
        let source = makeSource()
        let (check, monitor, disk) = (check, monitor, disk)
        try await with(source) {
            for (run, measured, text) in [
                (1, 20, "20 ms"), (2, 39, "20 ms"), (3, 11, "20 ms"), (4, 41, "41 ms"), (5, 1234, "1.2 s"),
                (6, 0, "0 ms"), (7, 19, "0 ms"), (8, 20, "20 ms"),
            ] {
                let caller = source.requestRefresh()
                await check.began(run)
                check.end(.success(CheckResult(.ok, "connected", latency: Latency(.milliseconds(measured)))))
                await caller.value
                let state = await monitor.wait(for: disk) { $0.status?.text.rawValue == "connected in \(text)" }.state()
                #expect(state != nil)
            }
        }
    }
}

extension CheckSource {
    /// Requests a refresh, as a client does; the test awaits or cancels it.
    fileprivate func requestRefresh() -> Task<Void, Never> {
        // Unstructured: the test continues meanwhile.
        Task { await refreshAction?() }
    }
}
