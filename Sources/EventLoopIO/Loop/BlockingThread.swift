// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs a function that may block, for example on a file, on its own thread.
///
/// The loop's thread must not wait, and neither must the few threads that run Swift's tasks: everything else would wait
/// with them.
package enum BlockingThread {
    /// Runs `body` on a new thread and returns its result.
    ///
    /// Cancelling the task does not end the wait: only `body` itself knows when it has ended.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            start { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a new thread and returns its result; nil on a timeout or if the task is cancelled.
    ///
    /// `body` then continues and its result is dropped, because a waiting thread cannot be stopped.
    @EventLoop package static func run<Result: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable () -> Result
    ) async -> Result? {
        await TimedWait.run(within: limit) { end in start { end(body()) } }
    }

    private static let pause = Duration.milliseconds(100)

    /// Starts `body` on a new thread, or retries soon if the system cannot create one.
    package static func start(_ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        if pthread_create(&thread, nil, runBlockingThread, context.toOpaque()) == 0 {
            pthread_detach(thread)
        } else {
            context.release()
            // Unstructured, because the caller may not be a task. It ends when `body` has been started.
            Task {
                try? await EventLoop.sleep(for: pause)
                start(body)
            }
        }
    }

    fileprivate final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

private func runBlockingThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<BlockingThread.Body>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
