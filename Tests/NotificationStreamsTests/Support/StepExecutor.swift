// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An executor whose jobs run when the test says so, on the test's own thread.
///
/// After ``run()`` nothing more can happen until the test does something: what was to be noticed has been noticed, and a
/// test needs neither to wait nor to guess. It serves tasks that prefer it, and actors whose executor it is.
final class StepExecutor: TaskExecutor, SerialExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs what is enqueued, and what that enqueues, until nothing is left; returns how many jobs that were.
    @discardableResult
    func run() -> Int {
        var count = 0
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            // As both: a job that is said to run only on the serial one is taken off and enqueued again at every function it
            // calls, if its task prefers this executor.
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            count += 1
        }
        return count
    }
}
