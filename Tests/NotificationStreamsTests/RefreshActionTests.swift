// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

@Suite("A refresh action", .timeLimit(.minutes(5)))
struct RefreshActionTests {
    @Test("it is called like a function, and returns when the action has ended")
    func calls() {
        let executor = StepExecutor()
        let (gate, log) = (Gate(), Log<String>())
        let refresh = RefreshAction {
            log.append("begins")
            await gate.pass()
            log.append("ends")
        }
        Task(executorPreference: executor) {
            await refresh()
            log.append("refreshed")
        }
        executor.run()
        #expect(log.entries == ["begins"])
        gate.open()
        executor.run()
        #expect(log.entries == ["begins", "ends", "refreshed"])
    }

    @Test("cancelling the caller cancels the action, and the call returns when the action has ended")
    func carriesCancellation() async {
        let executor = StepExecutor()
        let log = Log<String>()
        let refresh = RefreshAction {
            await Gate.untilCancelled()
            log.append("cancelled: \(Task.isCancelled)")
        }
        let task = Task(executorPreference: executor) {
            await refresh()
            log.append("returned")
        }
        executor.run()
        #expect(log.entries.isEmpty)
        task.cancel()
        executor.run()
        #expect(log.entries == ["cancelled: true", "returned"])
        await task.value
    }

    @Test("it runs in the caller's task, on its executor")
    func callersTask() {
        let executor = StepExecutor()
        let log = Log<Bool>()
        let refresh = RefreshAction {
            let preferred = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
            log.append(preferred == executor.asUnownedTaskExecutor())
        }
        Task(executorPreference: executor) { await refresh() }
        executor.run()
        #expect(log.entries == [true])
    }
}
