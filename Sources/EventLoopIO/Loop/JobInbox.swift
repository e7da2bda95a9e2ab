// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Synchronization

/// Jobs for the loop from any thread, and whether a new one must wake it.
final class JobInbox: Sendable {
    enum Job {
        /// A job of an actor whose executor is the loop's.
        case isolated(UnownedJob)
        /// A job of Swift's global executor (``EventLoop/runProcess(_:)``).
        case concurrent(UnownedJob)
        /// A closure of ``EventLoop/perform(_:)``.
        case closure(@Sendable () -> Void)
    }

    private struct State {
        var jobs: Deque<Job> = []
        /// Whether the loop waits or is about to.
        var isAsleep = false
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.jobs.count } }

    /// Appends a job; returns whether the caller must wake the loop.
    func append(_ job: Job) -> Bool {
        state.withLock { state in
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }

    /// Exchanges the waiting jobs for an empty queue.
    func swapJobs(_ jobs: inout Deque<Job>) { state.withLock { swap(&$0.jobs, &jobs) } }

    /// Returns whether the loop may wait, because there is no job; the next job must wake it.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.jobs.isEmpty
            return state.isAsleep
        }
    }

    /// The loop no longer waits.
    func wakeUp() { state.withLock { $0.isAsleep = false } }
}
