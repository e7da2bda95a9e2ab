// SPDX-License-Identifier: Apache-2.0 Functions that C calls. They are nonisolated and in a file of their own: a
// closure formed in an isolated context, given to C and called on another thread stops the process.

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
    Unmanaged<EventLoopExecutor>.fromOpaque(context).takeRetainedValue().run()
}

/// Makes the caller's thread the event loop's.
func becomeEventLoopThread() { eventLoopThread.store(pthread_self(), ordering: .relaxed) }

func timerCallback(_ source: OpaquePointer?, _ time: UInt64, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context else { return 0 }
    let source = Unmanaged<TimerSource>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { source.fire() }
    return 0
}

/// The signal that interrupts a system call; it is used for nothing else, and ignored by default.
let interruption = SIGURG

/// Installs a handler for ``interruption``: an ignored signal interrupts nothing.
func handleInterruptions() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(interruption, &action, nil)
}
