// SPDX-License-Identifier: Apache-2.0

/// Runs the system's resolver, which may wait for as long as it likes, on a bounded number of threads.
@EventLoop
final class Resolver {
    static let shared = Resolver()

    /// How many threads may wait; who finds them all waiting gets in line.
    private static let threads = 128

    private var running = 0
    private var line: [@Sendable () -> Void] = []

    /// Whether all threads wait, so that others may not even have begun.
    var isFull: Bool { running >= Self.threads }

    /// Runs `body` on a thread of its own and returns its result.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
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
        guard running < Self.threads, !line.isEmpty else { return }
        running += 1
        BlockingThread.start(line.removeFirst())
    }

    private func ended() {
        running -= 1
        start()
    }
}
