// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A clock that a test advances.
package final class ManualClock: Clock, Sendable {
    /// A time on this clock, which starts at zero.
    package struct Instant: InstantProtocol {
        var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastID = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Removes and returns the waiters whose number of sleepers is reached.
        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters.removeAll { $0.count <= sleepers.count } }
            return waiters.filter { $0.count <= sleepers.count }.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .zero }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, waiters): (Bool, [CheckedContinuation<Void, Never>]) = state.withLock { state in
                    if Task.isCancelled || deadline <= state.now { return (true, []) }
                    state.sleepers[id] = (deadline, continuation)
                    return (false, state.takeWaiters())
                }
                if isOver { continuation.resume(with: Result { try Task.checkCancellation() }) }
                for waiter in waiters { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns when this many tasks are sleeping.
    package func sleeper(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state in
                state.waiters.append((count, continuation))
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Advances the clock and wakes the tasks whose deadline has passed.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values
        }
        for (_, continuation) in due { continuation.resume() }
    }
}
