// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

@Suite("A shared load that keeps its value", .timeLimit(.minutes(5)))
struct KeptValueTests {
    let loads = Loads()

    private func make() -> SharedLoad<String, LoadFailure> {
        SharedLoad(executorPreference: loads.executor, keepsValue: true, loads.load)
    }

    @Test("a hundred concurrent calls cause one load, and all get its value")
    func hundredCallers() async {
        let first = make()
        let callers = (0..<100).map { _ in loads.caller(first.load) }
        loads.executor.run()
        #expect(loads.log.entries == ["load 1 begins"])
        #expect(first.callers == 100)
        #expect(first.isLoading)
        #expect(first.value == nil)
        loads.end(1)
        for caller in callers {
            #expect(await caller.outcome == "value 1")
        }
        #expect(loads.log.entries == ["load 1 begins", "load 1 ends"])
        #expect(first.value == "value 1")
        #expect(!first.isLoading)
    }

    @Test("later calls get the value without a load, even in a cancelled task")
    func later() async {
        let first = make()
        let caller = loads.caller(first.load)
        loads.executor.run()
        loads.end(1)
        #expect(await caller.outcome == "value 1")
        let late = loads.caller(first.load)
        let cancelled = loads.caller(first.load)
        cancelled.cancel()
        loads.executor.run()
        #expect(await late.outcome == "value 1")
        #expect(await cancelled.outcome == "value 1")
        #expect(loads.log.entries == ["load 1 begins", "load 1 ends"])
    }

    @Test("the value of a load that was cancelled is not kept")
    func lastLeaves() async {
        let first = make()
        let caller = loads.caller(first.load)
        loads.executor.run()
        caller.cancel()
        loads.executor.run()
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        #expect(await caller.outcome == "cancelled")
        #expect(!first.isLoading)
        loads.end(1)
        #expect(first.value == nil)
    }

    @Test("if the load throws, all callers get the error, which is not kept: the next call begins another load")
    func fails() async {
        let first = make()
        let callers = (0..<100).map { _ in loads.caller(first.load) }
        loads.executor.run()
        loads.end(1, failing: true)
        for caller in callers {
            #expect(await caller.outcome == "failure 1")
        }
        #expect(first.value == nil)
        let next = loads.caller(first.load)
        loads.executor.run()
        loads.end(2)
        #expect(await next.outcome == "value 2")
    }

    @Test("cancel() keeps a value that has been loaded")
    func cancelKeepsValue() async {
        let first = make()
        let caller = loads.caller(first.load)
        loads.executor.run()
        loads.end(1)
        #expect(await caller.outcome == "value 1")
        first.cancel()
        #expect(first.value == "value 1")
    }

    @Test("a call in a task that is already cancelled begins no load")
    func cancelledCaller() async {
        let first = make()
        let caller = loads.caller(first.load)
        caller.cancel()
        loads.executor.run()
        #expect(await caller.outcome == "cancelled")
        #expect(loads.log.entries.isEmpty)
    }

    @Test("if callers join and leave on all threads, loads never overlap, and each caller gets an answer")
    func fullSpeed() async throws {
        for _ in 0..<50 {
            let occupancy = Occupancy()
            let first = SharedLoad(keepsValue: true) {
                occupancy.enter()
                defer { occupancy.leave() }
                await Task.yield()
                try Task.checkCancellation()
                return "value"
            }
            let callers = (0..<100).map { _ in Task { try await first.load() } }
            for (number, caller) in callers.enumerated() where !number.isMultiple(of: 10) {
                caller.cancel()
            }
            for (number, caller) in callers.enumerated() {
                let outcome = await caller.outcome
                #expect(outcome == "value" || !number.isMultiple(of: 10) && outcome == "cancelled")
            }
            #expect(occupancy.most == 1)
            #expect(first.value == "value")
        }
    }
}
