// SPDX-License-Identifier: Apache-2.0

/// Decides when to save: changes at once, but at most one batch in each second; after failures, at growing intervals.
struct SavingSchedule {
    /// The shortest time between two batches.
    private static let interval = Duration.seconds(1)
    /// The same, if a caller waits for a batch.
    private static let shortestInterval = Duration.milliseconds(50)
    /// The longest time without a batch.
    ///
    /// If the daemon is killed, the time of its end is known with this accuracy.
    private static let longestInterval = Duration.seconds(600)
    private static let pauses = (first: Duration.seconds(1), longest: Duration.seconds(60))
    /// The time between two searches for old entries, and between the steps of one search.
    private static let pruning = (interval: Duration.seconds(60), step: Duration.milliseconds(50))

    /// What is unsaved, and whether a caller waits for it.
    private enum Demand { case nothing, changes, urgentChanges }

    private var demand = Demand.changes
    private var lastSave = ContinuousClock.now - longestInterval
    private var pause = Duration.zero
    private var retry: ContinuousClock.Instant?
    /// When to search for old entries; nil if nothing was saved since the last search.
    private var pruningTime: ContinuousClock.Instant? = .now
    private var lastPruning = ContinuousClock.now

    /// Whether there are unsaved changes.
    var isPending: Bool { demand != .nothing }

    /// The time of the next batch or step.
    var next: ContinuousClock.Instant { pruningTime.map { min(nextSave, $0) } ?? nextSave }

    private var nextSave: ContinuousClock.Instant {
        if let retry { return retry }
        guard isPending else { return lastSave + Self.longestInterval }
        return lastSave + (demand == .urgentChanges ? Self.shortestInterval : Self.interval)
    }

    func isDue(at now: ContinuousClock.Instant) -> Bool { nextSave <= now }

    func isPruningDue(at now: ContinuousClock.Instant) -> Bool { pruningTime.map { $0 <= now } ?? false }

    /// Notes that something has changed.
    mutating func notePending() { if demand == .nothing { demand = .changes } }

    /// Notes that a caller waits for the next batch.
    mutating func hurry() { demand = .urgentChanges }

    mutating func begin(at now: ContinuousClock.Instant) {
        lastSave = now
        (demand, retry) = (.nothing, nil)
        pruningTime = pruningTime ?? max(now, lastPruning + Self.pruning.interval)
    }

    mutating func succeeded() { pause = .zero }

    mutating func failed(at now: ContinuousClock.Instant) {
        pause = min(max(pause * 2, Self.pauses.first), Self.pauses.longest)
        retry = now + pause
    }

    /// Schedules a search for old entries now, because the limits have changed.
    mutating func pruneSoon() { pruningTime = .now }

    /// Notes that a step begins; if the limits change before it ends, another search is due.
    mutating func beginPruning() { pruningTime = nil }

    mutating func pruned(at now: ContinuousClock.Instant, hasMore: Bool) {
        lastPruning = now
        if hasMore { pruningTime = pruningTime ?? now + Self.pruning.step }
    }
}
