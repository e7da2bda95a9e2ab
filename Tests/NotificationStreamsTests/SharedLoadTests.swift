// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import NotificationStreamsTestSupport
import Testing

@Suite("A shared load", .timeLimit(.minutes(1)))
struct SharedLoadTests {
    let loads = Loads()

    private func make() -> SharedLoad<String> {
        SharedLoad(executorPreference: loads.executor, loads.load)
    }

    @Test("Who asks while it runs joins it, and who asks when it has ended gets another")
    func joins() async {
        let shared = make()
        let (one, other) = (loads.caller(shared.load), loads.caller(shared.load))
        loads.executor.run()
        #expect(shared.callers == 2)
        loads.end(1)
        #expect(await one.outcome == "value 1")
        #expect(await other.outcome == "value 1")
        #expect(!shared.isLoading)
        let later = loads.caller(shared.load)
        loads.executor.run()
        loads.end(2)
        #expect(await later.outcome == "value 2")
    }

    @Test("Each caller may leave, and the last to leave cancels it")
    func leaving() async {
        let shared = make()
        let (one, other) = (loads.caller(shared.load), loads.caller(shared.load))
        loads.executor.run()
        one.cancel()
        loads.executor.run()
        #expect(await one.outcome == "cancelled")
        #expect(loads.log.entries == ["load 1 begins"])
        other.cancel()
        loads.executor.run()
        #expect(await other.outcome == "cancelled")
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        loads.end(1)
    }

    @Test("Cancelling it lets all who wait go and cancels the load; who asks then gets another")
    func cancelled() async {
        let shared = make()
        shared.cancel()
        let callers = (0..<3).map { _ in loads.caller(shared.load) }
        loads.executor.run()
        shared.cancel()
        loads.executor.run()
        for caller in callers { #expect(await caller.outcome == "cancelled") }
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        #expect(!shared.isLoading)
        let next = loads.caller(shared.load)
        loads.executor.run()
        loads.end(1)
        loads.end(2)
        #expect(await next.outcome == "value 2")
    }

    @Test("Callers who come while a cancelled load is ending share the next one, from which they may leave as well")
    func whileEnding() async {
        let shared = make()
        let leaver = loads.caller(shared.load)
        loads.executor.run()
        leaver.cancel()
        let next = (0..<3).map { _ in loads.caller(shared.load) }
        loads.executor.run()
        next[0].cancel()
        loads.executor.run()
        #expect(await next[0].outcome == "cancelled")
        loads.end(1)
        loads.end(2)
        #expect(await next[1].outcome == "value 2")
        #expect(await next[2].outcome == "value 2")
    }

    @Test("If all who came while a cancelled load was ending have left too, no other begins")
    func nobodyLeft() async {
        let shared = make()
        let (leaver, other) = (loads.caller(shared.load), loads.caller(shared.load))
        loads.executor.run()
        leaver.cancel()
        other.cancel()
        let next = loads.caller(shared.load)
        loads.executor.run()
        next.cancel()
        loads.executor.run()
        loads.end(1)
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled", "load 1 ends"])
    }

    @Test("As a refresh action it joins, and a caller that is cancelled leaves it")
    func asRefreshAction() async {
        let shared = make()
        let refresh = RefreshAction { _ = try? await shared.load() }
        let stays = loads.caller(shared.load)
        let leaves = Task(executorPreference: loads.executor) { await refresh() }
        loads.executor.run()
        leaves.cancel()
        loads.executor.run()
        await leaves.value
        #expect(loads.log.entries == ["load 1 begins"])
        loads.end(1)
        #expect(await stays.outcome == "value 1")
    }

    @Test("The load's task is named after the place where it was made, or as asked")
    func names() async throws {
        let line = #line + 1
        let unnamed = SharedLoad { Task.name }
        #expect(try await unnamed.load() == "\(#fileID):\(line)")
        let named = SharedLoad(name: "check") { Task.name }
        #expect(try await named.load() == "check")
    }
}
