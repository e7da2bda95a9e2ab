// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import EventLoopIO

/// These tests take no time: each sleep has zero duration, or is cancelled.
@Suite("Sleeping on the event loop", .timeLimit(.minutes(5)))
@EventLoop
struct SleepTests {
    @Test("a sleep ends")
    func ends() async throws { try await EventLoop.sleep(for: .zero) }

    @Test("a timer counts from when it is scheduled, not from sd-event's last turn")
    func countsFromNow() throws {
        let timer = try TimerSource {}
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        timer.schedule(after: .seconds(3600))
        // sd-event counts in microseconds.
        let earliest = Duration.seconds(now.tv_sec + 3600) + .microseconds(now.tv_nsec / 1000)
        #expect(timer.due >= earliest)
        timer.cancel()
    }

    @Test("timers that are due at the same time run in few turns")
    func together() async {
        // In its own process, because a loop that other tests keep busy serves one timer in each turn.
        await #expect(processExitsWith: .success) {
            let turns = try await SleepTests.turns(ofTimers: 200)
            #expect(Set(turns).count < turns.count)
        }
    }

    /// Returns the turns in which timers run that are due at once.
    private static func turns(ofTimers count: Int) async throws -> [UInt64] {
        var turns: [UInt64] = []
        let hasEnded = AsyncStream<Void>.makeStream()
        let timers = try (0..<count).map { _ in
            try TimerSource {
                turns.append(EventLoop.executor.turnNumber)
                if turns.count == count { hasEnded.continuation.finish() }
            }
        }
        for timer in timers { timer.schedule(after: .zero) }
        for await _ in hasEnded.stream {}
        return turns
    }

    @Test("a cancelled sleep ends at once, whether it was cancelled before or during it")
    func cancelled() async {
        for isAsleep in [false, true] {
            let task = Task { @EventLoop in try await EventLoop.sleep(for: .seconds(1_000_000)) }
            // Behind the task's job in the loop's queue: the task sleeps by then.
            if isAsleep { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("a blocking thread returns the result of its function")
    func blockingThread() async {
        let isOnLoop = await BlockingThread.run { EventLoop.executor.isCurrent }
        #expect(!isOnLoop)
    }
}
