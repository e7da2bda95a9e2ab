// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusStore
import Synchronization

/// Reads the history for clients, one query at a time, on a separate thread; users take turns.
@EventLoop
final class HistoryQueue {
    /// Whether a query's caller has cancelled it.
    private final class Cancellation: Sendable {
        let isCancelled = Atomic(false)
    }

    @EventLoop private final class Query {
        let account: UInt32
        /// Begins to read; nil afterwards, because it holds the query.
        var start: (@EventLoop () -> Void)?
        /// Ends the call without a result; nil once the caller has been answered.
        var leave: (@EventLoop () -> Void)?

        init(of account: UInt32) { self.account = account }
    }

    private let store: StatusStore
    private var waiting: [UInt32: [Query]] = [:]
    /// The users with a waiting query; the first one is next.
    private var turns: [UInt32] = []
    /// Whether a query is running, even if its caller has cancelled it.
    private var isBusy = false

    init(_ store: StatusStore) { self.store = store }

    /// Reads something; `body` runs on the thread.
    ///
    /// - Parameters:
    ///   - account: the user that makes the query.
    ///   - body: reads, and ends early if the closure that it gets returns true.
    /// - Throws: ``StoreFailure``; `CancellationError`, at once.
    func read<Value: Sendable>(
        for account: UInt32,
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value
    ) async throws -> Value {
        let (cancellation, query) = (Cancellation(), Query(of: account))
        let result: Result<Value, StoreFailure>? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                query.leave = { continuation.resume(returning: nil) }
                query.start = {
                    self.start(body, cancellation) { result in
                        guard query.leave.take() != nil else { return }
                        continuation.resume(returning: result)
                    }
                }
                append(query)
                startNext()
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
            // The task may be cancelled before the query is in the queue, but this runs afterwards.
            EventLoop.perform { self.abandon(query) }
        }
        guard let result, !Task.isCancelled else { throw CancellationError() }
        return try result.get()
    }

    /// Ends a cancelled query at once, without waiting for a slow disk.
    private func abandon(_ query: Query) {
        query.leave.take()?()
        query.start = nil
        waiting[query.account]?.removeAll { $0 === query }
        guard waiting[query.account]?.isEmpty == true else { return }
        waiting[query.account] = nil
        turns.removeAll { $0 == query.account }
    }

    private func append(_ query: Query) {
        if waiting[query.account] == nil { turns.append(query.account) }
        waiting[query.account, default: []].append(query)
    }

    private func startNext() {
        guard !isBusy, let account = turns.first, let query = waiting[account]?.removeFirst() else { return }
        turns.removeFirst()
        if waiting[account]?.isEmpty == true { waiting[account] = nil } else { turns.append(account) }
        query.start.take()?()
    }

    private func start<Value: Sendable>(
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value,
        _ cancellation: Cancellation, end: @escaping @EventLoop @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        isBusy = true
        BlockingThread.start { [store] in
            let result: Result<Value, StoreFailure>
            do throws(StoreFailure) {
                result = .success(try body(store) { cancellation.isCancelled.load(ordering: .relaxed) })
            } catch {
                result = .failure(error)
            }
            EventLoop.perform {
                self.isBusy = false
                end(result)
                self.startNext()
            }
        }
    }
}
