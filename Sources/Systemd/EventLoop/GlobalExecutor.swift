// SPDX-License-Identifier: Apache-2.0

import CExecutorHooks

/// The loop as Swift's global executor, by the hooks that the concurrency runtime has for programs with an event loop of their own.
enum GlobalExecutor {
    /// Has the loop run all jobs that Dispatch's threads would run, and wait for all sleeping tasks.
    ///
    /// Must be called before the first task begins.
    static func install() { statusd_set_global_executor(enqueueOnLoop, enqueueOnLoopAt) }

    /// Runs a job at a time of one of Swift's clocks.
    fileprivate static func enqueue(_ job: UnownedJob, at time: Duration, _ clock: TimerSource.Clock) {
        EventLoop.perform {
            do throws(SystemdError) {
                var timer: TimerSource?
                timer = try TimerSource(clock: clock, accuracy: .microseconds(100)) {
                    timer?.cancel()
                    timer = nil
                    EventLoop.executor.enqueueConcurrent(job)
                }
                timer?.schedule(at: time)
            } catch {
                // Without a timer, too early is better than never: whoever sleeps looks at the clock again, or has waited enough.
                EventLoop.executor.enqueueConcurrent(job)
            }
        }
    }
}

private func enqueueOnLoop(_ job: UnsafeMutableRawPointer) {
    EventLoop.executor.enqueueConcurrent(unsafeBitCast(job, to: UnownedJob.self))
}

private func enqueueOnLoopAt(_ job: UnsafeMutableRawPointer, _ seconds: Int64, _ nanoseconds: Int64, _ clock: Int32) {
    GlobalExecutor.enqueue(
        unsafeBitCast(job, to: UnownedJob.self), at: .seconds(seconds) + .nanoseconds(nanoseconds),
        clock == Int32(STATUSD_SUSPENDING_CLOCK) ? .monotonic : .boottime)
}

extension UnownedSerialExecutor {
    /// No executor in particular: the runtime's own name for the global one.
    static var concurrent: UnownedSerialExecutor {
        unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
