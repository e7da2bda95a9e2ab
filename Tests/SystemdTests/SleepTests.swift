// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import Systemd

@Suite("Sleeping on the event loop", .timeLimit(.minutes(1)))
@EventLoop
struct SleepTests {
    @Test("a sleep ends, and no earlier than asked for")
    func ends() async throws {
        let began = ContinuousClock.now
        try await EventLoop.sleep(for: .milliseconds(5))
        #expect(ContinuousClock.now - began >= .milliseconds(5))
    }

    @Test("a timer counts from when it is scheduled, however long the loop has waited for other things before")
    func countsFromNow() async throws {
        // Time passes in which sd-event, which keeps the time of its last turn, has none.
        try await EventLoop.sleep(for: .milliseconds(1))
        _ = usleep(30_000)
        let began = ContinuousClock.now
        try await EventLoop.sleep(for: .milliseconds(20))
        #expect(ContinuousClock.now - began >= .milliseconds(20))
    }

    @Test("a cancelled sleep ends at once, whether it was cancelled before or while it slept")
    func cancelled() async {
        for isCancelledBefore in [true, false] {
            let task = Task { @EventLoop in try await EventLoop.sleep(for: .seconds(1_000_000)) }
            if !isCancelledBefore { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("a thread of its own hands over what its function returns")
    func blockingThread() async {
        let isOnLoop = await BlockingThread.run { EventLoop.executor.isCurrent }
        #expect(!isOnLoop)
    }
}
