// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

@Suite("A shared load", .timeLimit(.minutes(5)))
struct SharedLoadTests {
    let loads = Loads()

    private func make(keepsValue: Bool = false) -> SharedLoad<String, LoadFailure> {
        SharedLoad(executorPreference: loads.executor, keepsValue: keepsValue, loads.load)
    }

    @Test("a call made while it runs shares it, and a call made after it has ended begins another")
    func shares() async {
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

    @Test("a caller that leaves does not cancel it, but the last caller does", arguments: [false, true])
    func leaving(keepsValue: Bool) async {
        let shared = make(keepsValue: keepsValue)
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

    @Test("cancel() releases all callers and cancels the load, and the next call begins another")
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

    @Test(
        "calls made while a cancelled load is ending share the next load, and can leave it",
        arguments: [false, true])
    func whileEnding(keepsValue: Bool) async {
        let shared = make(keepsValue: keepsValue)
        let leaver = loads.caller(shared.load)
        loads.executor.run()
        leaver.cancel()
        let next = (0..<3).map { _ in loads.caller(shared.load) }
        loads.executor.run()
        next[0].cancel()
        loads.executor.run()
        #expect(await next[0].outcome == "cancelled")
        #expect(loads.log.entries == ["load 1 begins", "load 1 cancelled"])
        loads.end(1)
        #expect(loads.log.entries.suffix(2) == ["load 1 ends", "load 2 begins"])
        loads.end(2)
        #expect(await next[1].outcome == "value 2")
        #expect(await next[2].outcome == "value 2")
    }

    @Test("if all calls made while a cancelled load was ending have also left, no other load begins")
    func noCallersLeft() async {
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

    @Test("a refresh action can share it, and a cancelled refresh leaves it")
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

    @Test("its task is named after the line that creates it, or as requested")
    func names() async throws {
        let line = #line + 1
        let unnamed = SharedLoad { Task.name }
        #expect(try await unnamed.load() == "\(#fileID):\(line)")
        let named = SharedLoad(name: "check") { Task.name }
        #expect(try await named.load() == "check")
    }

    @Test("result() returns the load's error with its type, and throws only a CancellationError")
    func typedErrors() async throws {
        let shared = make()
        let failing = Task(executorPreference: loads.executor) { try await shared.result() }
        loads.executor.run()
        loads.end(1, failing: true)
        #expect(try await failing.value == .failure(LoadFailure(number: 1)))
        let cancelled = Task(executorPreference: loads.executor) { () async -> CancellationError? in
            do throws(CancellationError) { _ = try await shared.result() } catch { return error }
            return nil
        }
        loads.executor.run()
        cancelled.cancel()
        loads.executor.run()
        #expect(await cancelled.value != nil)
        loads.end(2)
    }

    @Test("if the load cannot fail, load() throws only a CancellationError")
    func neverFails() async {
        let shared = SharedLoad { await Gate.untilCancelled() }
        let caller = Task { () async -> CancellationError? in
            do throws(CancellationError) { try await shared.load() } catch { return error }
            return nil
        }
        caller.cancel()
        #expect(await caller.value != nil)
    }
}
