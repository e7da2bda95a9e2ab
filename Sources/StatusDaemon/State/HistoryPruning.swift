// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusModel
import StatusMonitor

/// Decides which entries of the history are removed.
struct HistoryPruning {
    /// One step of pruning, which the store performs.
    struct Step: Sendable {
        /// Older entries are removed.
        let oldest: Timestamp
        /// The number of entries to keep; 0 removes the whole history.
        let keeping: Int
    }

    private var limits = HistoryLimits()
    private var clock: HistoryClock
    /// Whether the whole history is being removed because it was turned off, even if it was turned on again since.
    private var isEmptying = false

    init(by clock: HistoryClock) { self.clock = clock }

    /// Whether a history is kept at all.
    var keepsHistory: Bool { limits.changes > 0 }

    /// Applies the limits of a new configuration.
    mutating func apply(_ limits: HistoryLimits) {
        self.limits = limits
        if !keepsHistory { isEmptying = true }
    }

    /// The current time, by which the age of entries is measured.
    mutating func time() -> Timestamp { clock.time(at: .now(), tolerance: limits.keep / 10) }

    mutating func next() -> Step {
        let oldest = Timestamp(milliseconds: time().milliseconds - Int64(limits.keep / .milliseconds(1)))
        return Step(oldest: oldest, keeping: isEmptying ? 0 : limits.changes)
    }

    /// Notes that a step found nothing left to remove; returns whether the history was emptied and is kept again.
    mutating func ended(_ step: Step) -> Bool {
        // A step that began before the history was turned off has not emptied it.
        guard step.keeping == 0 else { return false }
        isEmptying = false
        return keepsHistory
    }
}
