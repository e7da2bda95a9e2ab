// SPDX-License-Identifier: Apache-2.0

// Functions that C calls. They are nonisolated and in their own file: a closure that is formed in an isolated context
// and called by C on another thread stops the process.

import CLinux
import Glibc
import Synchronization

/// The thread of the loop, 0 until it begins.
private let eventLoopThread = Atomic<pthread_t>(0)

/// Whether the caller is on the event loop's thread.
var isEventLoopThread: Bool { pthread_self() == eventLoopThread.load(ordering: .relaxed) }

func runEventLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    becomeEventLoopThread()
    pthread_setname_np(pthread_self(), "sd-event")
    let executor = Unmanaged<EventLoopExecutor>.fromOpaque(context).takeRetainedValue()
    EventLoop.assumeIsolated { executor.run() }
}

/// Makes the caller's thread the event loop's.
func becomeEventLoopThread() { eventLoopThread.store(pthread_self(), ordering: .relaxed) }

func timerCallback(_ source: OpaquePointer?, _ time: UInt64, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context else { return 0 }
    let source = Unmanaged<TimerSource>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { source.fire() }
    return 0
}

/// Makes the loop Swift's global and main executor, through hooks of the concurrency runtime.
///
/// The hooks do not cover sleeping: `Task.sleep` and the standard clocks use Dispatch, so ``EventLoop/sleep(for:)``
/// replaces them.
enum GlobalExecutor {
    /// Makes the loop run all jobs that Dispatch's threads would run, and those of the main actor.
    ///
    /// Call it before the first task begins.
    static func install() { linux_replace_executors() }
}

/// Called by the runtime with its own pointer to a job, which is all that an `UnownedJob` consists of.
@_cdecl("statusd_enqueue")
func enqueueOnLoop(_ job: UnsafeMutableRawPointer) {
    EventLoop.executor.enqueueConcurrent(unsafeBitCast(job, to: UnownedJob.self))
}

/// Called by the runtime for the main actor's executor, which consists of two pointers.
@_cdecl("statusd_main_executor")
func mainExecutor() -> linux_executor {
    unsafeBitCast(EventLoop.executor.asUnownedSerialExecutor(), to: linux_executor.self)
}

extension UnownedSerialExecutor {
    /// The runtime's own value for the global executor.
    static var concurrent: UnownedSerialExecutor { unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self) }
}
