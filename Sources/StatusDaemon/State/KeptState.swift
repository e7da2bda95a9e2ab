// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusStore

/// The state that the daemon keeps, as the control interface sees it.
@EventLoop
final class KeptState {
    /// Saves the state; nil if no state is kept.
    private let keeper: StateKeeper?
    private let queue: HistoryQueue?
    /// Why no state is kept; nil if a state is kept, or none is wanted.
    private let problem: String?

    init(_ keeper: StateKeeper?, _ state: OpenedState) {
        self.keeper = keeper
        queue = state.store.map { HistoryQueue($0) }
        problem = state.problem
    }

    /// Phrases about the state that an administrator should read.
    var notices: [String] { (problem.map { ["no state is kept: \($0)"] } ?? []) + (keeper?.notices ?? []) }

    /// Reads the history for a user, with all changes up to now.
    ///
    /// - Throws: `MonitorError`; `CancellationError`.
    func read<Value: Sendable>(
        for account: UInt32, isFirst: Bool = true,
        _ body: @escaping @Sendable (StatusStore, @escaping @Sendable () -> Bool) throws(StoreFailure) -> Value
    ) async throws -> Value {
        guard let queue, let keeper else {
            throw MonitorError.historyUnavailable(reason: problem ?? "statusd was started with “--state none”")
        }
        guard keeper.keepsHistory else {
            throw MonitorError.historyUnavailable(reason: "the configuration turns it off (“history: { changes: 0 }”)")
        }
        if isFirst { await keeper.flush() }
        try Task.checkCancellation()
        do {
            return try await queue.read(for: account, body)
        } catch let error as StoreFailure {
            throw MonitorError.historyUnavailable(reason: error.description)
        }
    }
}
