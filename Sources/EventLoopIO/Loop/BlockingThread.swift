// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread for one function that may block, such as one that reads files.
///
/// The loop's thread must not wait, and the few that run Swift's tasks elsewhere must not either: they would hold up everything.
public enum BlockingThread {
    /// Runs `body` on a thread of its own and returns its result.
    ///
    /// The task is not cancelled while it waits: whether `body` has ended is known only when it has.
    public static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            start { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a thread of its own and returns its result; nil if that takes longer than `limit`, or the task is cancelled.
    ///
    /// Then `body` goes on, and its result is dropped: a thread that waits cannot be ended.
    @EventLoop public static func run<Result: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable () -> Result
    ) async -> Result? {
        await TimedWait.run(within: limit) { end in start { end(body()) } }
    }

    private static let pause = Duration.milliseconds(100)

    /// Runs `body` on a thread of its own; if there cannot be another now, as soon as there can.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        if pthread_create(&thread, nil, runBlockingThread, context.toOpaque()) == 0 {
            pthread_detach(thread)
        } else {
            context.release()
            // A task of nobody's, since whoever called may not be a task; it ends when `body` has been started.
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
