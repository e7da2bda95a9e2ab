// SPDX-License-Identifier: Apache-2.0

/// A bounded number of threads for functions that may wait for as long as they like, such as the system's resolver or a look at a
/// network file system.
@EventLoop
public final class BlockingThreads {
    private let limit: Int
    private var running = 0
    private var line: [@Sendable () -> Void] = []

    /// Threads of which none has been started.
    ///
    /// - Parameter limit: how many may wait at a time; further functions get in line.
    public nonisolated init(limit: Int) { self.limit = limit }

    /// Whether all threads wait, so that the next function may not even begin.
    public var isFull: Bool { running >= limit }

    /// Runs `body` on a thread of its own and returns its result.
    ///
    /// The task is not cancelled while it waits: whether `body` has ended is known only when it has.
    public func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            line.append {
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
        guard !isFull, !line.isEmpty else { return }
        running += 1
        BlockingThread.start(line.removeFirst())
    }

    private func ended() {
        running -= 1
        start()
    }
}
