// SPDX-License-Identifier: Apache-2.0

/// Runs functions that may block indefinitely, on a bounded number of threads.
///
/// ``Resolver`` looks up host names on them.
@EventLoop
package final class BlockingThreads {
    private let limit: Int
    private var running = 0
    private var queue: [@Sendable () -> Void] = []

    /// Creates the set without starting a thread.
    ///
    /// - Parameter limit: how many functions may run at a time; others wait in a queue.
    package nonisolated init(limit: Int) { self.limit = limit }

    /// Whether all threads are in use, so that the next function must wait for one.
    package var isFull: Bool { running >= limit }

    /// Runs `body` on a separate thread and returns its result.
    ///
    /// Cancelling the task does not end the wait: only `body` itself knows when it has ended.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.append {
                let result = Swift.Result { try body() }
                EventLoop.perform {
                    self.ended()
                    continuation.resume(with: result)
                }
            }
            start()
        }
    }

    private func start() {
        guard !isFull, !queue.isEmpty else { return }
        running += 1
        BlockingThread.start(queue.removeFirst())
    }

    private func ended() {
        running -= 1
        start()
    }
}
