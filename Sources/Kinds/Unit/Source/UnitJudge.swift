// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient

/// Decides when to show which state of a unit.
///
/// When systemd restarts a unit, it passes through five states (failed, auto-restart, inactive, activating, active),
/// which are one event. The restart is shown at once, and its result when that has held for a while.
struct UnitJudge {
    /// What to do with a state.
    enum Verdict: Equatable {
        case show(UnitStatus)
        /// Do not show it yet: it is one of several that are needed.
        case hold(UnitStatus, Int, of: Int)
        /// Its meaning is not known yet.
        case wait
    }

    /// How long a unit must run after a restart.
    private static let settlingTime = Duration.seconds(5)
    /// How long a unit must be down to count as down; a restart takes it down for some milliseconds.
    static let passingTime = Duration.milliseconds(200)

    private let name: String
    private var runtime: Duration?
    private var counter: LevelCounter
    /// The results in a row that do not count yet (``Hysteresis/signedStreak``).
    var signedStreak: Int { counter.signedStreak }
    /// The unit's state, and the time since which it has been in that state.
    private var state: [String] = []
    private var since = Duration.zero
    /// The unit's last properties, while the service manager knew of a run of it.
    private var lastKnown: UnitProperties?
    /// The highest number of restarts up to which every restart has been seen.
    private var expectedRestarts = 0
    /// The number of restarts before the current or last one.
    private var restartsBefore: Int?
    /// Whether a level was being counted when the settings changed.
    private var wasCounting = false
    /// A failure that has not been shown yet, because it may be brief.
    private var heldFailure: UnitStatus?
    /// How the last run failed; nil if it did not.
    private var lastFailure: UnitStatus?
    /// Whether the unit is down after a failure, and its next run was skipped or its restart was cancelled.
    private var keepsFailure = false
    /// When the last known run began.
    private var startedAt: Duration?
    /// When it ran again after a restart that systemd delayed; from systemd 257 on, the properties do not tell.
    private var runningSince: Duration?
    var hasFailed: Bool { lastFailure != nil }
    /// Whether its file could not be used at the last judgement.
    private var wasUnusable = false

    /// - Parameters:
    ///   - runtime: how long a oneshot may run; nil if that is not limited.
    ///   - schedule: how many times in a row a level must be found, an interval apart, to count.
    ///   - signedStreak: the results that came before a restart (``Hysteresis/signedStreak``).
    init(of name: String, runtime: Duration?, schedule: CheckSchedule, shown: Level?, signedStreak: Int = 0) {
        self.name = name
        self.runtime = runtime
        counter = LevelCounter(schedule, shown: shown, signedStreak: signedStreak)
    }

    /// Takes a failure from before a restart, which holds until a run succeeds.
    mutating func keep(_ failure: UnitStatus) { lastFailure = failure }

    /// Changes the settings; the history of the unit is kept.
    mutating func change(runtime: Duration?, schedule: CheckSchedule, shown: Level?) {
        self.runtime = runtime
        wasCounting = wasCounting || counter.isCounting
        counter = LevelCounter(schedule, shown: shown)
    }

    /// Judges the unit's properties.
    ///
    /// - Parameters:
    ///   - unit: the current properties.
    ///   - now: the time of the clock that the properties use.
    /// - Returns: what to do, and when to judge again if nothing changes before; nil for never.
    mutating func judge(_ unit: UnitProperties, at now: Duration) -> (verdict: Verdict, again: Duration?) {
        guard var unit = recall(unit) else {
            return counter.shown == .critical ? (.wait, nil) : counter.count(Self.unknownEnd, at: now)
        }
        let missed = enter(unit, at: now)
        if let missed {
            lastFailure = missed
            let (verdict, counts) = counter.count(missed, at: now)
            return (verdict, min(since + timeToSettle(unit), counts ?? .seconds(Int64.max)))
        }
        if unit.isRestarted {
            // The number increases before the state changes.
            unit.restarts = restartsBefore ?? unit.restarts
        } else {
            let settled = since + timeToSettle(unit)
            if now < settled {
                if unit.activeState == "failed", unit.result != "success" { heldFailure = UnitStatus(unit, of: name) }
                return (.wait, settled)
            }
            // A unit that is starting or stopping has no result yet.
            if unit.isActive || unit.isDown { restartsBefore = nil }
            heldFailure = nil
        }
        let limit = runtime.flatMap { unit.runsToItsEnd(within: $0, since: runningSince) }
        let next = limit.flatMap { $0 > now ? $0 : nil }
        let isOverdue = limit != nil && next == nil
        // After a failure, a unit is ok again only when a run has succeeded, not when one begins.
        if let lastFailure, unit.isRunningToItsEnd, !isOverdue {
            guard wasUnusable || wasCounting || counter.isCounting else { return (.wait, next) }
            let (verdict, counts) = counter.count(lastFailure, at: now)
            if case .show = verdict { (wasUnusable, wasCounting) = (false, false) }
            return (verdict, [next, counts].compactMap { $0 }.min())
        }
        let status = isOverdue ? overdue(unit) : status(of: unit)
        wasUnusable = unit.isUnusable
        if !isOverdue, !wasUnusable {
            let isFailure =
                unit.activeState == "failed" || unit.startFailure != nil && unit.runsToItsEnd
                || unit.subState.hasPrefix("auto-restart") && unit.result != "success"
            if isFailure { lastFailure = status } else if !keepsFailure { lastFailure = nil }
            // The service manager does not keep it, so it may not be known when the unit is read again.
            if unit.startFailure != nil, isFailure, unit.activeState == "inactive" { keepsFailure = true }
        }
        let (verdict, counts) = counter.count(status, at: now)
        return (verdict, [next, counts].compactMap { $0 }.min())
    }

    /// The status to show as a message while another one is still in force.
    mutating func pendingStatus(of unit: UnitProperties) -> UnitStatus { recall(unit).map(status) ?? Self.unknownEnd }

    private func status(of unit: UnitProperties) -> UnitStatus {
        let status = UnitStatus(unit, of: name)
        guard keepsFailure, unit.loadState == "loaded", unit.startFailure == nil, let lastFailure else { return status }
        return UnitStatus(lastFailure.level, "\(unit.activeState) (\(unit.subState)) after a failure")
    }

    private static let unknownEnd = UnitStatus(.unknown, "ended with an unknown result")

    /// The unit's properties, or those from before the service manager forgot it; nil if it is unknown how it ended.
    private mutating func recall(_ unit: UnitProperties) -> UnitProperties? {
        // If its file cannot be used, the result of the last run is unknown.
        if unit.isUnusable { return unit }
        guard unit.isForgotten else {
            // A unit that cannot be started fails without a start time.
            lastKnown = unit.startedAt == nil && unit.activeState != "failed" ? nil : unit
            return unit
        }
        guard let lastKnown else { return hasFailed && unit.startFailure == nil ? nil : unit }
        guard lastKnown.isDown else { return nil }
        var recalled = unit
        (recalled.activeState, recalled.subState) = (lastKnown.activeState, lastKnown.subState)
        (recalled.result, recalled.startedAt) = (lastKnown.result, lastKnown.startedAt)
        (recalled.exit, recalled.restarts) = (lastKnown.exit, lastKnown.restarts)
        recalled.isStartedTooOften = lastKnown.isStartedTooOften
        return recalled
    }

    /// Notes the state; returns the previous one if that was not shown.
    ///
    /// That is an unreported restart, or a failure after which something other than systemd's `Restart=` started the
    /// unit at once.
    private mutating func enter(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        let failure = enterState(unit, at: now)
        defer {
            // The number increases before the state changes.
            let counted = unit.isRestarted ? restartsBefore.map { $0 + 1 } : nil
            expectedRestarts = max(unit.restarts, counted ?? 0)
        }
        return hasMissedRestart(unit) ? enterMissedRestart(unit, at: now) : failure
    }

    private mutating func enterState(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        // A failed unit that is started is, in passing, failed with a good result. A unit that reloads is still
        // running.
        let state =
            switch unit.activeState {
            case _ where unit.isActive: ["active"]
            case "failed": ["failed", unit.result ?? ""]
            default: [unit.activeState, unit.subState]
            }
        let isOtherRun = unit.startedAt.map { $0 != startedAt } ?? false
        startedAt = unit.startedAt ?? startedAt
        // A run may be so short that only its end is seen.
        guard state != self.state || unit.activeState == "inactive" && isOtherRun else { return nil }
        noteEnd(unit, isOfOtherRun: isOtherRun, at: now)
        // A failed unit that is started is, in passing, failed with a good result.
        defer { if unit.activeState != "failed" { heldFailure = nil } }
        // It may have been in its first state for a long time.
        since = self.state.isEmpty ? min(now, unit.changedAt ?? now - Self.settlingTime) : now
        self.state = state
        if unit.isRestarted {
            restartsBefore = unit.restarts
        } else if heldFailure != nil, unit.activeState != "failed" {
            restartsBefore = unit.restarts
            return heldFailure
        }
        return nil
    }

    /// Notes how the state before this one ended, and since when the unit has been running.
    private mutating func noteEnd(_ unit: UnitProperties, isOfOtherRun: Bool, at now: Duration) {
        let wasRestarted = state.last?.hasPrefix("auto-restart") ?? false
        let isRestarted = unit.subState.hasPrefix("auto-restart")
        if wasRestarted, !isRestarted { runningSince = unit.isDown ? nil : now }
        if unit.isDown || isRestarted { runningSince = nil }
        // A cancelled restart does not count.
        let isCalledOff = wasRestarted && !isOfOtherRun && unit.restarts <= restartsBefore ?? unit.restarts
        keepsFailure =
            unit.activeState == "inactive" && unit.runsToItsEnd
            && (isCalledOff || unit.result ?? "success" != "success")
        // Its restart was cancelled unseen.
        if keepsFailure, unit.result != "exec-condition", lastFailure == nil {
            lastFailure = UnitStatus(.warning, "failed")
        }
    }

    /// Whether it was restarted and the states in between were not seen, because it was quick or the bus was away.
    private func hasMissedRestart(_ unit: UnitProperties) -> Bool {
        !unit.isRestarted && !unit.isDown && unit.restarts > expectedRestarts
    }

    /// Notes a missed restart; returns nil if it is so long ago that the unit has settled.
    private mutating func enterMissedRestart(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        let before = unit.restarts - 1
        since = min(now, unit.enteredAt ?? now)
        guard now < since + Self.settlingTime || unit.isRunningToItsEnd else { return nil }
        restartsBefore = before
        var missed = unit
        // The reason for the restart is no longer known.
        (missed.activeState, missed.subState, missed.result) = ("activating", "auto-restart", nil)
        missed.restarts = before
        return UnitStatus(missed, of: name)
    }

    private func timeToSettle(_ unit: UnitProperties) -> Duration {
        if restartsBefore != nil { return unit.isDown ? Self.passingTime : Self.settlingTime }
        return unit.activeState == "failed" ? Self.passingTime : .zero
    }

    private func overdue(_ unit: UnitProperties) -> UnitStatus {
        let limit = runtime.map { TimeSpan.text($0) } ?? ""
        return UnitStatus(.critical, "\(unit.activeState) for more than \(limit)")
    }
}

extension UnitProperties {
    /// Whether the service manager may have forgotten a failure: it knows of no earlier run.
    fileprivate var isForgotten: Bool {
        isForgottenWhenFailed && loadState == "loaded" && activeState == "inactive" && startedAt == nil
    }

    /// Whether it cannot be loaded, is masked or does not exist, and is not kept in memory from an earlier run.
    fileprivate var isUnusable: Bool { loadState != "loaded" && activeState == "inactive" && startedAt == nil }

    fileprivate var isDown: Bool { activeState == "inactive" || activeState == "failed" }

    /// Since when it has been in its state; nil if the service manager has not said.
    fileprivate var enteredAt: Duration? { isActive ? activeAt : changedAt }

    /// When a running oneshot exceeds `limit`.
    fileprivate func runsToItsEnd(within limit: Duration, since begin: Duration?) -> Duration? {
        isRunningToItsEnd ? startedAt.map { max($0, begin ?? $0) + limit } : nil
    }
}
