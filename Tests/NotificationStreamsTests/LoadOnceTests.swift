// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import NotificationStreamsTestSupport
import Testing

@Suite("A load that runs once", .timeLimit(.minutes(1)))
struct LoadOnceTests {
    let loads = Loads()

    private func make() -> LoadOnce<String> {
        LoadOnce(executorPreference: loads.executor, loads.load)
    }

    @Test("A hundred callers at the same moment cause one load, and all get its value")
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

    @Test("Who asks later gets the value without a load, also in a task that is cancelled")
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

    @Test("Each caller may leave at once, the first not excepted, and the others get the value")
    func leaving() async {
        let first = make()
        let callers = (0..<100).map { _ in loads.caller(first.load) }
        loads.executor.run()
        for caller in callers.dropLast() {
            caller.cancel()
        }
        loads.executor.run()
        for caller in callers.dropLast() {
            #expect(await caller.outcome == "cancelled")
        }
        #expect(first.callers == 1)
        loads.end(1)
        #expect(await callers.last?.outcome == "value 1")
        #expect(loads.log.entries == ["load 1 begins", "load 1 ends"])
    }

    @Test("The last caller to leave cancels the load, and what it still brings is not kept")
    func lastLeaves() async {
        let first = make()
        let callers = (0..<2).map { _ in loads.caller(first.load) }
        loads.executor.run()
        callers[0].cancel()
        loads.executor.run()
        #expect(loads.log.entries == ["load 1 begins"])
        callers[1].cancel()
        loads.executor.run()
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        #expect(await callers[1].outcome == "cancelled")
        #expect(!first.isLoading)
        loads.end(1)
        #expect(first.value == nil)
    }

    @Test("After a load was cancelled the next call begins it afresh, when the cancelled one has ended")
    func afresh() async {
        let first = make()
        let leaver = loads.caller(first.load)
        loads.executor.run()
        leaver.cancel()
        let next = loads.caller(first.load)
        loads.executor.run()
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        #expect(first.isLoading)
        loads.end(1)
        #expect(loads.log.entries.suffix(2) == ["load 1 ends", "load 2 begins"])
        loads.end(2)
        #expect(await next.outcome == "value 2")
        #expect(first.value == "value 2")
    }

    @Test("When the load throws, all who wait get the error, and the next call begins it afresh")
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

    @Test("Cancelling it lets all who wait go; a value that was loaded stays")
    func cancelledForAll() async {
        let first = make()
        let leaver = loads.caller(first.load)
        loads.executor.run()
        first.cancel()
        loads.executor.run()
        #expect(await leaver.outcome == "cancelled")
        let caller = loads.caller(first.load)
        loads.executor.run()
        loads.end(1)
        loads.end(2)
        #expect(await caller.outcome == "value 2")
        first.cancel()
        #expect(first.value == "value 2")
    }

    @Test("A caller whose task is cancelled already begins no load")
    func cancelledCaller() async {
        let first = make()
        let caller = loads.caller(first.load)
        caller.cancel()
        loads.executor.run()
        #expect(await caller.outcome == "cancelled")
        #expect(loads.log.entries.isEmpty)
    }

    @Test("Under callers who come and go on all threads loads never overlap, and each caller gets an answer")
    func fullSpeed() async throws {
        for _ in 0..<50 {
            let occupancy = Occupancy()
            let first = LoadOnce {
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
