// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An executor whose jobs run when the test says so, on the test's own thread.
///
/// After ``run(actors:)`` nothing more can happen until the test does something: what was to be noticed has been noticed, and a
/// test needs neither to wait nor to guess. It serves the tasks that prefer it; ``makeActors()`` is for actors.
package final class StepExecutor: TaskExecutor {
    private enum Job {
        case ofTask(UnownedJob)
        case ofActor(UnownedJob)
    }

    /// The executor for actors, a separate one because an actor's jobs and a task's are not run in the same way: a job that
    /// is run as the other kind is put back into the queue by each asynchronous function it enters.
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

    /// Makes an executor for actors, whose jobs run in the same order as the tasks'.
    package func makeActors() -> Actors {
        Actors(self)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(.ofTask(job)) }
    }

    /// Runs what is enqueued, and what that enqueues, until nothing is left; returns how many jobs that were.
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
                preconditionFailure("an actor's job on an executor that was not told of actors")
            }
            count += 1
        }
        return count
    }
}
