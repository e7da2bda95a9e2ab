// SPDX-License-Identifier: Apache-2.0

import CExecutorHooks

/// Makes the loop Swift's global executor, by the hook that the concurrency runtime has for event loops.
///
/// Sleeping tasks are not part of it: `Task.sleep` and the standard clocks use Dispatch, so ``EventLoop/sleep(for:)``
/// replaces them.
enum GlobalExecutor {
    /// Makes the loop run all jobs that Dispatch's threads would run; must be called before the first task begins.
    static func install() { statusd_set_global_executor(enqueueOnLoop) }
}

/// Called by the runtime with its own pointer to a job, which is all that an `UnownedJob` consists of.
private func enqueueOnLoop(_ job: UnsafeMutableRawPointer) {
    EventLoop.executor.enqueueConcurrent(unsafeBitCast(job, to: UnownedJob.self))
}

extension UnownedSerialExecutor {
    /// The runtime's own value for the global executor.
    static var concurrent: UnownedSerialExecutor {
        unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
