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

    /// A query that waits; it is told whether it may begin.
    private typealias Waiter = (number: Int, begin: CheckedContinuation<Bool, Never>)

    private let store: StatusStore
    private var waiting: [UInt32: [Waiter]] = [:]
    /// The users with a waiting query; the first one is next.
    private var turns: [UInt32] = []
    /// Whether a query is running, even if its caller has cancelled it.
    private var isBusy = false
    private var lastNumber = 0

    /// A query may take any time, unless its caller cancels it.
    private static let limit = Duration.seconds(365 * 86_400)

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
        guard await turn(of: account) else { throw CancellationError() }
        let cancellation = Cancellation()
        let result = await withTaskCancellationHandler {
            await BlockingThread.run(within: Self.limit) { [store] in
                defer { EventLoop.perform { self.startNext() } }
                return Result { () throws(StoreFailure) in
                    try body(store) { cancellation.isCancelled.load(ordering: .relaxed) }
                }
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
        }
        guard let result, !Task.isCancelled else { throw CancellationError() }
        return try result.get()
    }

    /// Waits until it is the user's turn; returns false if the task is cancelled before.
    private func turn(of account: UInt32) async -> Bool {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume(returning: false) }
                if waiting[account] == nil { turns.append(account) }
                waiting[account, default: []].append((number, continuation))
                if !isBusy { startNext() }
            }
        } onCancel: {
            EventLoop.perform { self.abandon(number, of: account) }
        }
    }

    private func abandon(_ number: Int, of account: UInt32) {
        guard let index = waiting[account]?.firstIndex(where: { $0.number == number }) else { return }
        waiting[account]?.remove(at: index).begin.resume(returning: false)
        guard waiting[account]?.isEmpty == true else { return }
        waiting[account] = nil
        turns.removeAll { $0 == account }
    }

    private func startNext() {
        isBusy = !turns.isEmpty
        guard let account = turns.first, let next = waiting[account]?.removeFirst() else { return }
        turns.removeFirst()
        if waiting[account]?.isEmpty == true { waiting[account] = nil } else { turns.append(account) }
        next.begin.resume(returning: true)
    }
}
