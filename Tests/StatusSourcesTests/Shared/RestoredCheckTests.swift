// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import StatusMonitor
import TestSupport
import Testing

@testable import StatusSources

@Suite("A check after a restart", .timeLimit(.minutes(5)))
@EventLoop struct RestoredCheckTests {
    private let monitor = StatusMonitor()
    private let check = GateCheck()
    private let clock = ManualClock()
    private let disk: ServerName

    init() throws {
        disk = try #require(ServerName("disk"))
        monitor.add(ServerDefinition(name: disk, source: "exec", isRefreshable: true))
        try monitor.post(try StatusText("DISK OK"), to: disk)
    }

    /// Runs a source that continues after a restart, for as long as `body` takes.
    private func with(
        _ check: GateCheck? = nil, streak: Int = 0, age: Duration, isUrgent: Bool = false,
        _ body: @escaping @EventLoop @Sendable (CheckSource) async throws -> Void
    ) async throws {
        var memory = SourceMemory()
        memory.streak = streak
        let order = SourceOrder(
            server: disk, schedule: CheckSchedule(interval: .seconds(60), failures: 3), shown: .ok,
            restored: RestoredSource(memory, age: age, isUrgent: isUrgent), environment: .test(monitor))
        let source = CheckSource(check ?? self.check, order, clock: clock)
        let run: @EventLoop @Sendable () async -> Void = { await source.run() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(operation: run)
            try await body(source)
            source.close()
        }
    }

    @Test("begins after the rest of the interval")
    func rest() async throws {
        let (check, clock) = (check, clock)
        try await with(age: .seconds(20)) { _ in
            await clock.sleeper()
            clock.advance(by: .seconds(39))
            #expect(check.begun == 0)
            clock.advance(by: .seconds(1))
            await check.began(1)
            check.end(.ok, "DISK OK")
        }
    }

    @Test("begins within half a minute if it is overdue")
    func overdue() async throws {
        let (check, clock) = (check, clock)
        try await with(age: .seconds(3600)) { _ in
            await clock.sleeper()
            clock.advance(by: .seconds(30))
            await check.began(1)
            check.end(.ok, "DISK OK")
        }
    }

    @Test("begins at once if it is urgent")
    func urgent() async throws {
        let check = check
        try await with(age: .seconds(20), isUrgent: true) { _ in
            await check.began(1)
            check.end(.ok, "DISK OK")
        }
    }

    @Test("begins at once if it reports changes, because it does so only after its first run")
    func changes() async throws {
        let check = GateCheck(changes: AsyncStream { _ in })
        try await with(check, age: .seconds(20)) { _ in
            await check.began(1)
            check.end(.ok, "DISK OK")
        }
    }

    @Test("keeps the number of results that do not count yet")
    func streak() async throws {
        let (check, monitor, disk, clock) = (check, monitor, disk, clock)
        try await with(streak: 2, age: .zero, isUrgent: true) { source in
            var memory = SourceMemory()
            source.note(in: &memory)
            #expect(memory.streak == 2)
            await check.began(1)
            check.end(.critical, "DISK FULL")
            await clock.sleeper()
            let state = try monitor.state(of: disk)
            #expect(state.status?.level == .critical)
            source.note(in: &memory)
            #expect(memory.streak == 0)
        }
    }
}
