// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusStore
import Synchronization

/// Reads the history for clients, one query at a time, on a separate thread; users take turns by the time that their queries take.
@EventLoop
final class HistoryQueue {
    /// Whether a query's caller has left.
    private final class Cancellation: Sendable {
        let isCancelled = Atomic(false)
    }

    /// A query that waits or runs.
    @EventLoop private final class Query {
        let account: UInt32
        /// Starts it; nil once that was done.
        var start: (@EventLoop () -> Void)?
        /// Tells its caller that it will not be answered; nil once the caller has a result.
        var fail: (@EventLoop (StoreFailure?) -> Void)?

        init(of account: UInt32) { self.account = account }
    }

    private let store: StatusStore
    private var queue = FairQueue<Query>()
    /// How many queries of each user are still in the queue although their callers have left.
    private var abandoned: [UInt32: Int] = [:]
    /// The query that runs, also if its caller has left.
    private var current: Query?
    /// Ends the wait for a disk that does not answer.
    private var timer: TimerSource?
    private var isHanging = false

    /// So many abandoned queries of a user stay in the queue.
    private static let mostAbandoned = 64
    /// How long a query may run; then callers get an error until it returns.
    private static let limit = Duration.seconds(30)
    private static let hang = StoreFailure("the disk has not answered for \(TimeSpan.text(limit))")

    init(_ store: StatusStore) { self.store = store }

    /// Reads something; `body` runs on the thread.
    ///
    /// - Parameters:
    ///   - account: the user for whom it is.
    ///   - body: reads, and ends early if the closure that it gets returns true.
    /// - Throws: ``StoreFailure``; `CancellationError`, at once.
    func read<Value: Sendable>(
        for account: UInt32,
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value
    ) async throws -> Value {
        guard !isHanging else { throw Self.hang }
        let (cancellation, query) = (Cancellation(), Query(of: account))
        let result: Result<Value, StoreFailure>? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                query.fail = { failure in continuation.resume(returning: failure.map { .failure($0) }) }
                query.start = {
                    self.start(body, cancellation, query) { result in
                        guard query.fail.take() != nil else { return }
                        continuation.resume(returning: result)
                    }
                }
                queue.append(query, of: account)
                startNext()
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
            // It may come before the query is in the queue, but this runs after that.
            EventLoop.perform { self.abandon(query) }
        }
        guard let result, !Task.isCancelled else { throw CancellationError() }
        return try result.get()
    }

    /// Answers a caller that has left: it does not wait for a disk that is slow.
    private func abandon(_ query: Query) {
        guard let fail = query.fail.take() else { return }
        fail(nil)
        let account = query.account
        guard query.start.take() != nil else { return }
        abandoned[account, default: 0] += 1
        guard abandoned[account, default: 0] > Self.mostAbandoned else { return }
        abandoned[account] = nil
        for query in queue.removeAll(of: account) where query.start != nil { queue.append(query, of: account) }
    }

    private func startNext() {
        while current == nil, let (query, account) = queue.popFirst() {
            if let start = query.start.take() {
                start()
            } else if let count = abandoned[account] {
                abandoned[account] = count > 1 ? count - 1 : nil
            }
        }
    }

    private func start<Value: Sendable>(
        _ body:
            @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value,
        _ cancellation: Cancellation, _ query: Query,
        end: @escaping @EventLoop @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        current = query
        let begin = ContinuousClock.now
        limitTime()
        BlockingThread.start { [store] in
            let result: Result<Value, StoreFailure>
            do throws(StoreFailure) {
                result = .success(try body(store) { cancellation.isCancelled.load(ordering: .relaxed) })
            } catch {
                result = .failure(error)
            }
            EventLoop.perform {
                self.timer?.cancel()
                (self.current, self.isHanging) = (nil, false)
                self.queue.charge(UInt64(max(0, (.now - begin) / .nanoseconds(1))), to: query.account)
                end(result)
                self.startNext()
            }
        }
    }

    private func limitTime() {
        timer = timer ?? (try? TimerSource { [weak self] in self?.noteHang() })
        timer?.schedule(after: Self.limit)
    }

    /// Answers all callers; others are not queued before the disk answers.
    private func noteHang() {
        isHanging = true
        current?.fail.take()?(Self.hang)
        while let (query, _) = queue.popFirst() {
            // It refers to the query.
            query.start = nil
            query.fail.take()?(Self.hang)
        }
        abandoned = [:]
    }
}
