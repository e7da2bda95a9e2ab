// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Runs the system's resolver, which may wait for as long as it likes, on threads that nothing else needs.
///
/// Those of Swift's tasks would be the wrong ones: a few names whose servers do not answer would hold up all tasks.
@EventLoop
final class Resolver {
    static let shared = Resolver()

    /// How many threads may wait; who finds them all waiting gets in line.
    private static let threads = 32

    private var running = 0
    private var line: [@Sendable () -> Void] = []

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
        Thread(line.removeFirst()).start()
    }

    private func ended() {
        running -= 1
        start()
    }
}

/// One run of a closure on a thread that ends with it.
private final class Thread: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Where there can be no thread, it is run here: rather late than never.
    func start() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        guard pthread_create(&thread, nil, runResolverThread, context.toOpaque()) == 0 else {
            context.release()
            return body()
        }
        pthread_detach(thread)
    }

    func run() { body() }
}

private func runResolverThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Thread>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
