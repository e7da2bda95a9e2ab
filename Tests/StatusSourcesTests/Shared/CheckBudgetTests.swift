// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("The slots for checks", .timeLimit(.minutes(5)))
@EventLoop struct CheckBudgetTests {
    /// Starts a check that runs until the test ends it.
    private func start(
        _ check: GateCheck, in budget: CheckBudget, _ resource: CheckBudget.Resource = .process, isUrgent: Bool = false
    ) -> Task<Bool, Never> {
        // Unstructured: the test continues meanwhile, and awaits or cancels it.
        Task { @EventLoop in
            do {
                _ = try await budget.run(CheckBudget.Claim(resource), isUrgent: isUrgent) { try await check.run() }
                return true
            } catch {
                return false
            }
        }
    }

    /// Returns when this many checks run or wait for a slot.
    private func settle(_ budget: CheckBudget, at count: Int) async {
        while budget.running + budget.waiting != count { await Task.yield() }
    }

    @Test("each running check has a slot; when a check ends, the next one begins, in order")
    func slots() async {
        let budget = CheckBudget(CheckLimits(checks: 3, processes: 3))
        let checks = (0..<4).map { _ in GateCheck() }
        var tasks: [Task<Bool, Never>] = []
        for check in checks {
            tasks.append(start(check, in: budget))
            await settle(budget, at: tasks.count)
        }
        await checks[1].began(1)
        #expect(checks.map(\.begun) == [1, 1, 0, 0])
        checks[1].end(.ok, "")
        await checks[2].began(1)
        #expect(checks[3].begun == 0)
        checks[0].end(.ok, "")
        await checks[3].began(1)
        for check in checks { check.end(.ok, "") }
        for task in tasks { #expect(await task.value) }
        #expect(budget.running == 0)
    }

    @Test("urgent checks go first; connections do not wait for processes")
    func order() async {
        let budget = CheckBudget(CheckLimits(checks: 3, processes: 1))
        let (first, second, urgent, connection) = (GateCheck(), GateCheck(), GateCheck(), GateCheck())
        var tasks = [start(first, in: budget)]
        await first.began(1)
        tasks.append(start(second, in: budget))
        await settle(budget, at: 2)
        tasks.append(start(urgent, in: budget, isUrgent: true))
        await settle(budget, at: 3)
        tasks.append(start(connection, in: budget, .connection))
        await connection.began(1)
        first.end(.ok, "")
        await urgent.began(1)
        #expect(second.begun == 0)
        urgent.end(.ok, "")
        await second.began(1)
        second.end(.ok, "")
        connection.end(.ok, "")
        for task in tasks { #expect(await task.value) }
    }

    @Test("plugins and HTTP requests do not wait for each other")
    func kinds() async {
        let budget = CheckBudget(CheckLimits(checks: 100, processes: 1, requests: 1))
        let (request, waiting, plugin) = (GateCheck(), GateCheck(), GateCheck())
        var tasks = [start(request, in: budget, .request)]
        await request.began(1)
        tasks.append(start(waiting, in: budget, .request))
        await settle(budget, at: 2)
        tasks.append(start(plugin, in: budget))
        await plugin.began(1)
        #expect(waiting.begun == 0)
        plugin.end(.ok, "")
        request.end(.ok, "")
        await waiting.began(1)
        waiting.end(.ok, "")
        for task in tasks { #expect(await task.value) }
    }

    @Test("a quarter of the slots is reserved for urgent checks, including those that become urgent later")
    func reserved() async {
        let budget = CheckBudget(CheckLimits(checks: 4, processes: 4))
        let checks = (0..<4).map { _ in GateCheck() }
        let claim = CheckBudget.Claim(.process)
        var tasks = checks[..<3].map { start($0, in: budget) }
        for check in checks[..<3] { await check.began(1) }
        let last = checks[3]
        tasks.append(
            // Unstructured: the test continues meanwhile, and awaits or cancels it.
            Task { @EventLoop in
                let result = try? await budget.run(claim) { try await last.run() }
                return result != nil
            })
        await settle(budget, at: 4)
        #expect(last.begun == 0)
        budget.expedite(claim)
        await last.began(1)
        for check in checks { check.end(.ok, "") }
        for task in tasks { #expect(await task.value) }
    }

    @Test("a check that is cancelled while it waits takes no slot")
    func cancelled() async {
        let budget = CheckBudget(CheckLimits(checks: 1, processes: 1))
        let (first, second, third) = (GateCheck(), GateCheck(), GateCheck())
        let running = start(first, in: budget)
        await first.began(1)
        let waiting = start(second, in: budget)
        await settle(budget, at: 2)
        let last = start(third, in: budget)
        await settle(budget, at: 3)
        waiting.cancel()
        #expect(await !waiting.value)
        first.end(.ok, "")
        await third.began(1)
        third.end(.ok, "")
        #expect(await running.value)
        #expect(await last.value)
        #expect(second.begun == 0)
        #expect(budget.running == 0)
    }

    @Test("a check that was cancelled earlier takes no slot, even if one is free")
    func cancelledBefore() async {
        let budget = CheckBudget(CheckLimits(checks: 1, processes: 1))
        let check = GateCheck()
        // Unstructured: the test continues meanwhile, and awaits or cancels it.
        let task = Task { @EventLoop in
            withUnsafeCurrentTask { $0?.cancel() }
            return try? await budget.run(CheckBudget.Claim(.process)) { try await check.run() }
        }
        #expect(await task.value == nil)
        #expect(check.begun == 0)
        #expect(budget.running == 0)
    }

    @Test("a larger limit admits waiting checks")
    func larger() async {
        let budget = CheckBudget(CheckLimits(checks: 1, processes: 1))
        let (first, second) = (GateCheck(), GateCheck())
        let tasks = [start(first, in: budget), start(second, in: budget)]
        await first.began(1)
        await settle(budget, at: 2)
        budget.limits = CheckLimits(checks: 3, processes: 3)
        await second.began(1)
        first.end(.ok, "")
        second.end(.ok, "")
        for task in tasks { #expect(await task.value) }
    }
}
