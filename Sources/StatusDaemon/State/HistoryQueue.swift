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

    /// A query in the queue.
    @EventLoop private final class Query {
        /// Starts it, or tells its caller that it will not run; nil once one of them was done.
        var waiting: (start: @EventLoop () -> Void, leave: @EventLoop () -> Void)?
    }

    private let store: StatusStore
    private var queue = FairQueue<Query>()
    /// How many queries of each user are still in the queue although their callers have left.
    private var abandoned: [UInt32: Int] = [:]
    private var isBusy = false

    /// So many abandoned queries of a user stay in the queue.
    private static let mostAbandoned = 64

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
        let (cancellation, query) = (Cancellation(), Query())
        let result: Result<Value, StoreFailure>? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                query.waiting = (
                    start: { self.start(body, cancellation, account) { continuation.resume(returning: $0) } },
                    leave: { continuation.resume(returning: nil) }
                )
                queue.append(query, of: account)
                startNext()
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
            // It may come before the query is in the queue, but this runs after that.
            EventLoop.perform { self.abandon(query, of: account) }
        }
        guard let result, !Task.isCancelled else { throw CancellationError() }
        return try result.get()
    }

    /// Gives up a query that still waits: its caller does not wait for a disk that is slow.
    private func abandon(_ query: Query, of account: UInt32) {
        guard let waiting = query.waiting.take() else { return }
        waiting.leave()
        abandoned[account, default: 0] += 1
        guard abandoned[account, default: 0] > Self.mostAbandoned else { return }
        abandoned[account] = nil
        for query in queue.removeAll(of: account) where query.waiting != nil { queue.append(query, of: account) }
    }

    private func startNext() {
        while !isBusy, let (query, account) = queue.popFirst() {
            if let waiting = query.waiting.take() {
                waiting.start()
            } else if let count = abandoned[account] {
                abandoned[account] = count > 1 ? count - 1 : nil
            }
        }
    }

    private func start<Value: Sendable>(
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value,
        _ cancellation: Cancellation, _ account: UInt32, end: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
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
