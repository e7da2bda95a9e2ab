// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An executor whose jobs run only when the test runs them, on the test's thread.
///
/// After ``run(actors:)``, nothing happens until the test does something, so a test never has to wait or guess. The
/// executor is for tasks that prefer it; ``makeActors()`` is for actors.
package final class StepExecutor: TaskExecutor {
    private enum Job {
        case ofTask(UnownedJob)
        case ofActor(UnownedJob)
    }

    /// The executor for actors.
    ///
    /// It is separate because a job must run as a job of either an actor or a task. If it runs as the other kind, each
    /// asynchronous function that it enters puts it back into the queue.
    package final class Actors: SerialExecutor {
        private let executor: StepExecutor

        init(_ executor: StepExecutor) {
            self.executor = executor
        }

        package func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            executor.jobs.withLock { $0.append(.ofActor(job)) }
        }
    }

    private let jobs = Mutex<[Job]>([])

    package init() {}

    /// Creates an executor for actors, whose jobs share one queue with the jobs of tasks.
    package func makeActors() -> Actors {
        Actors(self)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(.ofTask(job)) }
    }

    /// Runs all jobs, and the jobs that they enqueue, until none is left; returns their number.
    @discardableResult
    package func run(actors: Actors? = nil) -> Int {
        var count = 0
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            switch (job, actors) {
            case (.ofTask(let job), _):
                job.runSynchronously(on: asUnownedTaskExecutor())
            case (.ofActor(let job), let actors?):
                job.runSynchronously(
                    isolatedTo: actors.asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case (.ofActor, nil):
                preconditionFailure("an actor's job was enqueued, but run() was called without actors")
            }
            count += 1
        }
        return count
    }
}
