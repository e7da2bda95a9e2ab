// SPDX-License-Identifier: Apache-2.0

import CExecutorHooks

/// The loop as Swift's global executor, by the hook that the concurrency runtime has for programs with an event loop of their own.
///
/// Sleeping tasks are not part of it: `Task.sleep` and the standard clocks go to Dispatch, so ``EventLoop/sleep(for:)`` takes their place.
enum GlobalExecutor {
    /// Has the loop run all jobs that Dispatch's threads would run; must be called before the first task begins.
    static func install() { statusd_set_global_executor(enqueueOnLoop) }
}

/// Called by the runtime, with its own pointer to a job, of which `UnownedJob` consists.
private func enqueueOnLoop(_ job: UnsafeMutableRawPointer) {
    EventLoop.executor.enqueueConcurrent(unsafeBitCast(job, to: UnownedJob.self))
}

extension UnownedSerialExecutor {
    /// No executor in particular: the runtime's own name for the global one.
    static var concurrent: UnownedSerialExecutor {
        unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
