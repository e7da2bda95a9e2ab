// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient

/// Decides which of a unit's states are shown, and when.
///
/// A unit that systemd restarts passes through five states each time (failed, auto-restart, inactive, activating, active), which are one
/// event: that it is restarted is shown at once, and what comes of it when it has held for a while.
struct UnitJudge {
    /// What becomes of a state.
    enum Verdict: Equatable {
        /// It is shown.
        case show(UnitStatus)
        /// It is one of so many that are needed.
        case hold(UnitStatus, Int, of: Int)
        /// Nothing is to be said of it yet.
        case wait
    }

    /// How long a unit has to run after a restart.
    private static let settlingTime = Duration.seconds(5)
    /// How long it has to be down: in passing, before it is restarted and while it is started again, it is for some milliseconds.
    static let passingTime = Duration.milliseconds(200)

    private let name: String
    private var runtime: Duration?
    private var interval: Duration
    private var hysteresis: Hysteresis
    /// The state that the unit is in, and since when.
    private var state: [String] = []
    private var since = Duration.zero
    /// What the unit was like last, as long as the service manager knew of a run of it.
    private var lastKnown: UnitProperties?
    /// The number of restarts that there can be without one of which nobody has told.
    private var expectedRestarts = 0
    /// The number of restarts before the one that is going on or has just been.
    private var restartsBefore: Int?
    private var counted: Counted?
    /// Whether something was being counted when other settings came.
    private var wasCounting = false
    /// A failure of which nothing has been said yet, since it may be passing.
    private var unsaid: UnitStatus?
    /// How it had failed when it ended last; nil if it had not.
    private var lastFailure: UnitStatus?
    /// Whether it is down after a failure without a run in between that could have come to a good end: one that was skipped, or a restart that was called off.
    private var keepsFailure = false
    /// When the run began that was heard of last.
    private var startedAt: Duration?
    /// When it began to run again after a restart that systemd waited with, as from systemd 257 on its own time does not tell.
    private var runningSince: Duration?
    var hasFailed: Bool { lastFailure != nil }
    /// Whether what was judged last was that its file cannot be used.
    private var wasUnusable = false

    /// What was counted last, and when it is counted again if it is no other by then.
    private struct Counted {
        let direction: Hysteresis.Direction
        let times: Int
        let needed: Int
        let next: Duration
    }

    /// - Parameters:
    ///   - name: the unit's name.
    ///   - runtime: how long it may run if it runs to its end; nil: as long as it likes.
    ///   - schedule: how many times in a row a level has to be found, an interval apart, to count.
    ///   - shown: the level that is shown already.
    init(of name: String, runtime: Duration?, schedule: CheckSchedule, shown: Level?) {
        self.name = name
        self.runtime = runtime
        interval = schedule.interval
        hysteresis = Hysteresis(failures: schedule.failures, successes: schedule.successes, shown: shown)
    }

    /// Judges by other settings from now on, which are those of ``init(of:runtime:schedule:shown:)``: what is known of the unit still holds.
    mutating func change(runtime: Duration?, schedule: CheckSchedule, shown: Level?) {
        self.runtime = runtime
        interval = schedule.interval
        hysteresis = Hysteresis(failures: schedule.failures, successes: schedule.successes, shown: shown)
        wasCounting = wasCounting || counted != nil
        counted = nil
    }

    /// Judges the unit's properties.
    ///
    /// - Parameters:
    ///   - unit: what they are now.
    ///   - now: the time, by the clock that the unit's own times are by.
    /// - Returns: what becomes of it, and when to ask again, if nothing changes before; nil: not at all.
    mutating func judge(_ unit: UnitProperties, at now: Duration) -> (verdict: Verdict, again: Duration?) {
        guard var unit = recall(unit) else {
            return hysteresis.shown == .critical ? (.wait, nil) : count(Self.unknownEnd, at: now)
        }
        let missed = enter(unit, at: now)
        if let missed {
            lastFailure = missed
            let (verdict, counts) = count(missed, at: now)
            return (verdict, min(since + timeToSettle(unit), counts ?? .seconds(Int64.max)))
        }
        if unit.isRestarted {
            // The number becomes greater before the state is another.
            unit.restarts = restartsBefore ?? unit.restarts
        } else {
            let settled = since + timeToSettle(unit)
            if now < settled {
                if unit.activeState == "failed", unit.result != "success" { unsaid = UnitStatus(unit, of: name) }
                return (.wait, settled)
            }
            // What is on its way, however long, has not come to anything yet.
            if unit.isActive || unit.isDown { restartsBefore = nil }
            unsaid = nil
        }
        let limit = runtime.flatMap { unit.runsToItsEnd(within: $0, since: runningSince) }
        let next = limit.flatMap { $0 > now ? $0 : nil }
        let isOverdue = limit != nil && next == nil
        // What has failed is not well again because it runs once more, but when it has come to a good end.
        if let lastFailure, unit.isRunningToItsEnd, !isOverdue {
            guard wasUnusable || wasCounting || counted != nil else { return (.wait, next) }
            let (verdict, counts) = count(lastFailure, at: now)
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
            // The service manager keeps it nowhere, so it may not be known any more when the unit is read again.
            if unit.startFailure != nil, isFailure, unit.activeState == "inactive" { keepsFailure = true }
        }
        let (verdict, counts) = count(status, at: now)
        return (verdict, [next, counts].compactMap { $0 }.min())
    }

    /// What there is to say of the unit while what is shown of it holds.
    mutating func remark(on unit: UnitProperties) -> UnitStatus {
        recall(unit).map(status) ?? Self.unknownEnd
    }

    private func status(of unit: UnitProperties) -> UnitStatus {
        let status = UnitStatus(unit, of: name)
        guard keepsFailure, unit.loadState == "loaded", unit.startFailure == nil, let lastFailure else { return status }
        return UnitStatus(lastFailure.level, status.text + " after a failure")
    }

    private static let unknownEnd = UnitStatus(.unknown, "ended with an unknown result")

    /// What the unit is like, or was when the service manager forgot it; nil where nobody knows how it has ended.
    private mutating func recall(_ unit: UnitProperties) -> UnitProperties? {
        // Where its file cannot be used, that says nothing of the last run.
        if unit.isUnusable { return unit }
        guard unit.isForgotten else {
            // What cannot be started fails without having begun to.
            lastKnown = unit.startedAt == nil && unit.activeState != "failed" ? nil : unit
            return unit
        }
        guard let lastKnown else { return hasFailed && unit.startFailure == nil ? nil : unit }
        guard lastKnown.isDown else { return nil }
        var recalled = unit
        (recalled.activeState, recalled.subState) = (lastKnown.activeState, lastKnown.subState)
        (recalled.result, recalled.startedAt) = (lastKnown.result, lastKnown.startedAt)
        recalled.restarts = lastKnown.restarts
        return recalled
    }

    /// Takes note of the state; returns what was before it, if nothing has been said of that: a restart that nobody told of, or a failure
    /// after which somebody else than systemd's `Restart=` has started the unit again at once.
    private mutating func enter(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        let failure = enterState(unit, at: now)
        defer {
            // The number becomes greater before the state is another.
            let counted = unit.isRestarted ? restartsBefore.map { $0 + 1 } : nil
            expectedRestarts = max(unit.restarts, counted ?? 0)
        }
        return hasMissedRestart(unit) ? enterMissedRestart(unit, at: now) : failure
    }

    private mutating func enterState(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        // A unit that has failed and is started is a failed one with a good result, in passing.
        // One that reloads goes on running.
        let state =
            switch unit.activeState {
            case _ where unit.isActive: ["active"]
            case "failed": ["failed", unit.result ?? ""]
            default: [unit.activeState, unit.subState]
            }
        let isOtherRun = unit.startedAt.map { $0 != startedAt } ?? false
        startedAt = unit.startedAt ?? startedAt
        // A run may be so short that nothing is seen of it but that it has been.
        guard state != self.state || unit.activeState == "inactive" && isOtherRun else { return nil }
        noteEnd(unit, isOfOtherRun: isOtherRun, at: now)
        // A failed unit that is started is one with a good result, in passing.
        defer { if unit.activeState != "failed" { unsaid = nil } }
        // What it is when it is looked at first, it may have been for long.
        since = self.state.isEmpty ? now - Self.settlingTime : now
        self.state = state
        if unit.isRestarted {
            restartsBefore = unit.restarts
        } else if unsaid != nil, unit.activeState != "failed" {
            restartsBefore = unit.restarts
            return unsaid
        }
        return nil
    }

    /// Takes note of what the state before this one says of how it has ended, and since when it runs.
    private mutating func noteEnd(_ unit: UnitProperties, isOfOtherRun: Bool, at now: Duration) {
        let wasRestarted = state.last?.hasPrefix("auto-restart") ?? false
        let isRestarted = unit.subState.hasPrefix("auto-restart")
        if wasRestarted, !isRestarted { runningSince = unit.isDown ? nil : now }
        if unit.isDown || isRestarted { runningSince = nil }
        // One that was called off does not count as a restart.
        let isCalledOff = wasRestarted && !isOfOtherRun && unit.restarts <= restartsBefore ?? unit.restarts
        keepsFailure =
            unit.activeState == "inactive" && unit.runsToItsEnd
            && (isCalledOff || unit.result ?? "success" != "success")
        // Its restart was called off while nobody looked.
        if keepsFailure, unit.result != "exec-condition", lastFailure == nil {
            lastFailure = UnitStatus(.warning, "failed")
        }
    }

    /// Whether it was restarted without its states in between having come to be known, as where it is quick, or the bus drops signals.
    private func hasMissedRestart(_ unit: UnitProperties) -> Bool {
        !unit.isRestarted && !unit.isDown && unit.restarts > expectedRestarts
    }

    /// Takes note of that; returns nothing where it was so long ago that it has settled, as what runs to its end does with that.
    private mutating func enterMissedRestart(_ unit: UnitProperties, at now: Duration) -> UnitStatus? {
        let before = unit.restarts - 1
        since = min(now, unit.enteredAt ?? now)
        guard now < since + Self.settlingTime || unit.isRunningToItsEnd else { return nil }
        restartsBefore = before
        var missed = unit
        // Why it was restarted is not known any more.
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

    /// Counts a status, once an interval as long as it is worse than what is shown, or as long as it is better.
    private mutating func count(_ status: UnitStatus, at now: Duration) -> (verdict: Verdict, again: Duration?) {
        let direction = hysteresis.direction(of: status.level)
        if let counted, counted.direction == direction, now < counted.next {
            return (.hold(status, counted.times, of: counted.needed), counted.next)
        }
        switch hysteresis.take(status.level) {
        case .show:
            counted = nil
            return (.show(status), nil)
        case .hold(let times, let needed):
            let next = now + interval
            counted = direction.map { Counted(direction: $0, times: times, needed: needed, next: next) }
            return (.hold(status, times, of: needed), next)
        }
    }
}

extension UnitProperties {
    /// Whether the service manager may have forgotten that it has failed: it knows nothing of an earlier run.
    fileprivate var isForgotten: Bool {
        isForgottenWhenFailed && loadState == "loaded" && activeState == "inactive" && startedAt == nil
    }

    /// Whether it cannot be loaded, is masked or does not exist, and has not been kept in memory since it ran.
    fileprivate var isUnusable: Bool { loadState != "loaded" && activeState == "inactive" && startedAt == nil }

    fileprivate var isDown: Bool { activeState == "inactive" || activeState == "failed" }

    /// Since when it is what it is, active or in a state on the way; nil where the service manager has not said.
    fileprivate var enteredAt: Duration? { isActive ? activeAt : changedAt }

    /// When it has run for longer than `limit`, if it runs to its end, and does now.
    fileprivate func runsToItsEnd(within limit: Duration, since begin: Duration?) -> Duration? {
        isRunningToItsEnd ? startedAt.map { max($0, begin ?? $0) + limit } : nil
    }
}
