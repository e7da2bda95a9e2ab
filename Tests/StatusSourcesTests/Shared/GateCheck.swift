// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSources
import Synchronization

/// A check that ends when the test ends it, and records its runs.
final class GateCheck: Check {
    private struct State {
        var begun = 0
        var cancelled = 0
        var running = 0
        var most = 0
        var gate: CheckedContinuation<CheckResult, any Error>?
        var waiters: [(Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let heedsCancelling: Bool
    let changes: AsyncStream<Void>?

    init(heedsCancelling: Bool = true, changes: AsyncStream<Void>? = nil) {
        self.heedsCancelling = heedsCancelling
        self.changes = changes
    }

    let resource = CheckBudget.Resource.process

    /// The number of runs that have begun.
    var begun: Int { state.withLock { $0.begun } }
    /// The number of cancelled runs.
    var cancelled: Int { state.withLock { $0.cancelled } }
    /// The maximum number of concurrent runs.
    var most: Int { state.withLock { $0.most } }

    func run() async throws -> CheckResult {
        defer { state.withLock { $0.running -= 1 } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { gate in
                let due = state.withLock { state in
                    state.begun += 1
                    state.running += 1
                    state.most = max(state.most, state.running)
                    state.gate = gate
                    let due = state.waiters.filter { $0.0 <= state.begun }
                    state.waiters.removeAll { $0.0 <= state.begun }
                    return due
                }
                for (_, waiter) in due { waiter.resume() }
                if Task.isCancelled, heedsCancelling { cancel() }
            }
        } onCancel: {
            if heedsCancelling { cancel() }
        }
    }

    private func cancel() {
        let gate = state.withLock { state in
            if state.gate != nil { state.cancelled += 1 }
            defer { state.gate = nil }
            return state.gate
        }
        gate?.resume(throwing: CancellationError())
    }

    /// Returns when this many runs have begun.
    func began(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.begun >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Ends the current run.
    func end(_ result: Result<CheckResult, CheckFailure>) {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.resume(with: result.mapError { $0 })
    }

    func end(_ level: Level, _ text: String) { end(.success(CheckResult(level, text))) }
}
