// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusStore
import Synchronization

/// Reads the history for clients, one query at a time, on a separate thread; users take turns by the time that their queries take.
@EventLoop
final class HistoryQueue {
    /// Whether a query's caller has left.
    private final class Cancellation: Sendable {
        let isCancelled = Atomic(false)
    }

    private let store: StatusStore
    private var queue = FairQueue<@EventLoop () -> Void>()
    private var isBusy = false

    init(_ store: StatusStore) { self.store = store }

    /// Reads something; `body` runs on the thread.
    ///
    /// - Parameters:
    ///   - account: the user for whom it is.
    ///   - body: reads, and ends early if the closure that it gets returns true.
    /// - Throws: ``StoreFailure``; `CancellationError`.
    func read<Value: Sendable>(
        for account: UInt32,
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        let result: Result<Value, StoreFailure>? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.append(
                    { self.start(body, cancellation, account) { continuation.resume(returning: $0) } }, of: account)
                startNext()
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
        }
        guard let result, !Task.isCancelled else { throw CancellationError() }
        return try result.get()
    }

    private func startNext() {
        guard !isBusy, let next = queue.popFirst() else { return }
        next.element()
    }

    private func start<Value: Sendable>(
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value,
        _ cancellation: Cancellation, _ account: UInt32, end: @escaping @Sendable (Result<Value, StoreFailure>?) -> Void
    ) {
        if cancellation.isCancelled.load(ordering: .relaxed) {
            end(nil)
            return startNext()
        }
        isBusy = true
        let begin = ContinuousClock.now
        BlockingThread.start { [store] in
            let result: Result<Value, StoreFailure>
            do throws(StoreFailure) {
                result = .success(try body(store) { cancellation.isCancelled.load(ordering: .relaxed) })
            } catch {
                result = .failure(error)
            }
            EventLoop.perform {
                self.isBusy = false
                self.queue.charge(UInt64(max(0, (.now - begin) / .nanoseconds(1))), to: account)
                end(result)
                self.startNext()
            }
        }
    }
}
