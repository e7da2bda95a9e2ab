// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusModel
import StatusMonitor

/// Which entries of the history are removed.
struct HistoryPruning {
    /// One step of the store.
    struct Step: Sendable {
        /// Older entries are removed.
        let oldest: Timestamp
        /// The number of entries to keep; 0 removes the whole history.
        let keeping: Int
    }

    private var limits = HistoryLimits()
    private var clock: HistoryClock
    /// Whether the whole history is being removed, because it was turned off; it may have been turned on again since.
    private var isEmptying = false

    init(by clock: HistoryClock) { self.clock = clock }

    /// Whether changes are kept at all.
    var keepsHistory: Bool { limits.changes > 0 }

    /// Applies the limits of a new configuration.
    mutating func apply(_ limits: HistoryLimits) {
        self.limits = limits
        if !keepsHistory { isEmptying = true }
    }

    /// The time by which entries are too old.
    mutating func time() -> Timestamp { clock.time(at: .now(), tolerance: limits.keep / 10) }

    /// What to remove next.
    mutating func next() -> Step {
        let oldest = Timestamp(milliseconds: time().milliseconds - Int64(limits.keep / .milliseconds(1)))
        return Step(oldest: oldest, keeping: isEmptying ? 0 : limits.changes)
    }

    /// Notes that nothing is left for a step to remove; returns whether the history was emptied, and is kept again.
    mutating func ended(_ step: Step) -> Bool {
        // If the history was turned off during another step, that has not emptied it.
        guard step.keeping == 0 else { return false }
        isEmptying = false
        return keepsHistory
    }
}
