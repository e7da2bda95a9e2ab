// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import Synchronization
import Testing

@testable import StatusSources

@Suite("The slots for checks", .timeLimit(.minutes(1)))
@EventLoop struct CheckBudgetTests {
    /// Starts a check that runs until the test ends it.
    private func start(
        _ check: GateCheck, in budget: CheckBudget, _ resource: CheckBudget.Resource = .process, isUrgent: Bool = false
    ) -> Task<Bool, Never> {
        // Unstructured: the test continues meanwhile, and awaits or cancels it.
        Task { @EventLoop in
            do {
                _ = try await budget.run(CheckBudget.Claim(resource, isUrgent: { isUrgent })) { try await check.run() }
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
        let isWanted = Mutex(false)
        let claim = CheckBudget.Claim(.process) { isWanted.withLock { $0 } }
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
        isWanted.withLock { $0 = true }
        budget.expedite(claim)
        await last.began(1)
        for check in checks { check.end(.ok, "") }
        for task in tasks { #expect(await task.value) }
    }

    @Test(
        "repeated requests do not delay scheduled checks", arguments: [1, 2, 4])
    func shared(limit: Int) async {
        let budget = CheckBudget(CheckLimits(checks: limit, processes: limit))
        let isOver = Mutex(false)
        let ask: @EventLoop @Sendable () async -> Void = {
            while !isOver.withLock({ $0 }) {
                let claim = CheckBudget.Claim(.process) { true }
                try? await budget.run(claim) { await Task.yield() }
            }
        }
        let askers = (0..<3 * limit).map { _ in Task(operation: ask) }
        while budget.waiting < 2 * limit { await Task.yield() }
        let check = GateCheck()
        let task = start(check, in: budget)
        await check.began(1)
        isOver.withLock { $0 = true }
        check.end(.ok, "")
        #expect(await task.value)
        for asker in askers { await asker.value }
        #expect(budget.running == 0)
    }

    @Test("an urgent check does not wait for hanging checks of other kinds, even if others of its kind do")
    func lent() async {
        let budget = CheckBudget(CheckLimits(checks: 4, processes: 4, requests: 1))
        let hanging = (0..<4).map { _ in GateCheck() }
        var tasks = hanging.map { start($0, in: budget, .connection) }
        for check in hanging[..<3] { await check.began(1) }
        let (first, second, scheduled) = (GateCheck(), GateCheck(), GateCheck())
        tasks.append(start(first, in: budget, .request, isUrgent: true))
        await first.began(1)
        tasks += [start(scheduled, in: budget, .request), start(second, in: budget, .request, isUrgent: true)]
        await settle(budget, at: 7)
        first.end(.ok, "")
        // It is the ordinary check's turn after an urgent one.
        await scheduled.began(1)
        #expect(second.begun == 0)
        scheduled.end(.ok, "")
        await second.began(1)
        #expect(hanging[3].begun == 0)
        for check in [second] + hanging[..<3] { check.end(.ok, "") }
        await hanging[3].began(1)
        hanging[3].end(.ok, "")
        for task in tasks { #expect(await task.value) }
        #expect(budget.running == 0)
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

    @Test("a check that is no longer urgent returns to its position among the others")
    func noLongerUrgent() async {
        let budget = CheckBudget(CheckLimits(checks: 1, processes: 1))
        let (first, second, third) = (GateCheck(), GateCheck(), GateCheck())
        let isWanted = Mutex(true)
        var tasks = [start(first, in: budget)]
        await first.began(1)
        tasks.append(start(second, in: budget))
        await settle(budget, at: 2)
        tasks.append(
            // Unstructured: the test continues meanwhile, and awaits or cancels it.
            Task { @EventLoop in
                let claim = CheckBudget.Claim(.process) { isWanted.withLock { $0 } }
                return (try? await budget.run(claim) { try await third.run() }) != nil
            })
        await settle(budget, at: 3)
        isWanted.withLock { $0 = false }
        first.end(.ok, "")
        await second.began(1)
        #expect(third.begun == 0)
        second.end(.ok, "")
        await third.began(1)
        third.end(.ok, "")
        for task in tasks { #expect(await task.value) }
    }

    @Test("a hundred thousand waiting checks are admitted in order")
    func many() {
        var queue = CheckQueue<Int>()
        for number in 1...100_000 { #expect(queue.append(number, for: .process) == number) }
        #expect(queue.remove(1) == 1)
        queue.expedite(90_000)
        #expect(queue.popUrgent(where: { _ in true }, isUrgent: { _ in true })?.waiter == 90_000)
        #expect(queue.popUrgent(where: { _ in true }, isUrgent: { _ in true }) == nil)
        var popped: [Int] = []
        while let next = queue.popOrdinary(where: { _ in true }) { popped.append(next.waiter) }
        #expect(popped == (2...100_000).filter { $0 != 90_000 })
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
