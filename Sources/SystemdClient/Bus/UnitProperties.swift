// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// The properties of a unit in the service manager's words (org.freedesktop.systemd1(5)).
public struct UnitProperties: Sendable, Equatable {
    /// Whether the unit exists: `loaded`, `not-found`, `masked`, `bad-setting`, `error`, `merged` or `stub`.
    public var loadState = ""
    /// `active`, `reloading`, `refreshing`, `inactive`, `failed`, `activating`, `deactivating` or `maintenance`.
    public var activeState = ""
    /// The state in the words of the unit's type, such as `running` or `auto-restart`.
    public var subState = ""
    /// How the last run ended, such as `success` or `exit-code`; nil if the unit's type has no result.
    public var result: String?
    /// The last status of a service in one line; nil if it reported none.
    public var statusText: String?
    /// When a service counts as started, such as `notify` or `oneshot`; nil if the unit is not a service.
    public var serviceType: String?
    /// Whether a service counts as active when all of its processes have ended well (`RemainAfterExit=`).
    public var remainsAfterExit = false
    /// How often systemd has restarted a service since it was started by a user or another unit.
    public var restarts = 0
    /// The process id of a service's main process; nil if it has none.
    public var mainProcess: Int32?
    /// Why it was not started, if this process received the signal.
    ///
    /// The service manager does not keep the reason.
    public var startFailure: StartFailure?
    /// How the process ended that made the last run fail; nil if no process did, or if that is unknown.
    public var exit: Exit?
    /// Whether it failed, and systemd did not restart it because it had started too often.
    public var isStartedTooOften = false
    /// The condition or assertion that prevented the last start, such as `ConditionPathExists=/x`; nil if none did.
    ///
    /// It is empty if the service manager has forgotten which one it was.
    public var failedCondition: String?
    /// When a service last began to run, or a timer last elapsed, as the time since 1970; nil if that is unknown.
    public var lastRun: Duration?
    /// When a timer elapses next, as the time since 1970; nil if it will not.
    public var nextRun: Duration?
    /// The units that this one starts, such as the service of a timer.
    public var triggers: [String] = []
    /// The units that start this one, such as its timers.
    public var triggeredBy: [String] = []
    /// Whether its processes are frozen (`systemctl freeze`), by itself or by its slice.
    public var isFrozen = false
    /// Whether the service manager forgets the unit when it has failed (`CollectMode=inactive-or-failed`).
    public var isForgottenWhenFailed = false
    /// When it last began to start, by the monotonic clock (clock_gettime(2)); nil if the service manager knows of no
    /// start.
    public var startedAt: Duration?

    /// When it last became active, by the same clock; nil if the service manager does not know it.
    ///
    /// A reload does not change it.
    public var activeAt: Duration?
    /// When its state last changed, by the same clock; nil if the service manager does not know it.
    public var changedAt: Duration?

    /// When its conditions were last checked, by the same clock.
    var conditionsCheckedAt: Duration?
    /// How its main process ended, if badly.
    private var mainExit: TimedExit?
    /// How its commands ended, if badly; signals do not tell that.
    private var commandExits: [TimedExit] = []

    /// Creates properties with nothing known.
    public init() {}
}

/// A report to a follower of a unit.
public enum UnitObservation: Sendable, Equatable {
    /// The unit's properties.
    ///
    /// If the unit does not exist, its load state says so.
    case properties(UnitProperties)
    /// Why nothing is known: one phrase without a full stop.
    case unreachable(String)
    /// The service manager did not answer in time (``UnitSubscription/read(within:)``).
    case unanswered
}

extension UnitProperties {
    /// The properties' names on the bus.
    ///
    /// `Id` is the unit's own name, which differs from an alias.
    static let names: Set<String> = commands.union([
        "Id", "LoadState", "ActiveState", "SubState", "Result", "StatusText", "Type", "RemainAfterExit",
        "NRestarts", "MainPID", "InactiveExitTimestampMonotonic", "CollectMode",
        "FreezerState", "ActiveEnterTimestampMonotonic", "StateChangeTimestampMonotonic",
        "ConditionResult", "ConditionTimestampMonotonic", "Conditions", "AssertResult", "AssertTimestampMonotonic",
        "Asserts", "ExecMainCode", "ExecMainStatus", "ExecMainExitTimestampMonotonic", "InactiveExitTimestamp",
        "LastTriggerUSec", "NextElapseUSecRealtime", "NextElapseUSecMonotonic", "Triggers", "TriggeredBy",
    ])

    /// The commands of services, sockets, mounts and swaps.
    private static let commands: Set<String> = [
        "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecStop", "ExecStopPre", "ExecStopPost",
        "ExecMount", "ExecUnmount", "ExecActivate", "ExecDeactivate",
    ]

    /// Applies the properties of a reply or a signal.
    mutating func apply(_ values: [String: String], isService: Bool) {
        if let value = values["LoadState"] { loadState = value }
        if let value = values["ActiveState"] { activeState = value }
        if activeState != "inactive" { startFailure = nil }
        if let value = values["SubState"] { subState = value }
        if let value = values["Result"] { result = value.isEmpty ? nil : value }
        if let value = values["FreezerState"] { isFrozen = value.hasPrefix("frozen") }
        if let value = values["CollectMode"] { isForgottenWhenFailed = value == "inactive-or-failed" }
        if let value = values["InactiveExitTimestampMonotonic"] {
            let time = Self.time(value)
            // There was another run, perhaps so short that its other states were not reported.
            if let time, time != startedAt { (startFailure, commandExits) = (nil, []) }
            startedAt = time
        }
        apply(conditions: values)
        applySchedule(values)
        defer { applyExit(values) }
        if let value = values["ActiveEnterTimestampMonotonic"] { activeAt = Self.time(value) }
        if let value = values["StateChangeTimestampMonotonic"] { changedAt = Self.time(value) }
        guard isService else { return }
        if let time = Self.time(values["InactiveExitTimestamp"] ?? "") { lastRun = time }
        if let value = values["MainPID"].flatMap({ Int32($0) }) { mainProcess = value == 0 ? nil : value }
        if let value = values["NRestarts"].flatMap({ Int($0) }) {
            if value != restarts { commandExits = [] }
            restarts = value
        }
        if let value = values["StatusText"] { statusText = value.isEmpty ? nil : value }
        // A mount also has a property of this name: the file system's type.
        if let value = values["Type"] { serviceType = value.isEmpty ? nil : value }
        if let value = values["RemainAfterExit"] { remainsAfterExit = value == BusMessage.truth }
    }

    /// Applies the results of the last checks before a start; assertions are checked only if the conditions are met.
    private mutating func apply(conditions values: [String: String]) {
        let checks = ["Condition", "Assert"].compactMap { kind in
            Self.time(values["\(kind)TimestampMonotonic"] ?? "").map { (kind: kind, time: $0) }
        }
        // A unit that was just loaded has none.
        guard let last = checks.max(by: { $0.time < $1.time }) else { return }
        if values["\(last.kind)Result"] == BusMessage.truth {
            failedCondition = nil
        } else {
            let known = last.time == conditionsCheckedAt ? failedCondition : ""
            failedCondition = values["\(last.kind)s"] ?? known
        }
        conditionsCheckedAt = last.time
    }

    private mutating func applySchedule(_ values: [String: String]) {
        if let value = values["Triggers"] { triggers = value.split(separator: " ").map(String.init) }
        if let value = values["TriggeredBy"] { triggeredBy = value.split(separator: " ").map(String.init) }
        if let time = Self.time(values["LastTriggerUSec"] ?? "") { lastRun = time }
        guard let wall = values["NextElapseUSecRealtime"], let monotonic = values["NextElapseUSecMonotonic"] else {
            return
        }
        // As systemctl list-timers does: the earlier one.
        let elapsed = Self.time(monotonic).map { time in
            let seconds = (Self.now(CLOCK_REALTIME) + time - Self.now(CLOCK_MONOTONIC)).components.seconds
            return Duration.seconds(seconds)
        }
        nextRun = [Self.time(wall), elapsed].compactMap { $0 }.min()
    }

    private static func now(_ clock: clockid_t) -> Duration { .nanoseconds(Int64(nanoseconds(of: clock))) }

    private mutating func applyExit(_ values: [String: String]) {
        if let code = values["ExecMainCode"], let status = values["ExecMainStatus"],
            let time = values["ExecMainExitTimestampMonotonic"]
        {
            mainExit = TimedExit("\(code) \(status) \(time)")
        }
        let exits = Self.commands.compactMap { values[$0] }
        if !exits.isEmpty { commandExits = exits.compactMap { TimedExit($0) } }
        explainResult()
    }

    /// Finds the reason for the result, which is the first failure of the last run.
    ///
    /// The service manager forgets how all processes ended when it starts the unit again, but not if it refuses to.
    private mutating func explainResult() {
        let exits = commandExits + [mainExit].compactMap(\.self)
        exit = exits.filter { $0.explains(result) }.min { $0.time < $1.time }?.exit
        // While a unit waits for its restart, it counts as starting.
        let start = startedAt ?? .zero
        isStartedTooOften =
            activeState == "failed" && failedCondition == nil && !exits.isEmpty
            && exits.allSatisfy { $0.time < start }
    }

    /// Converts microseconds to a time; 0 and the largest number mean none.
    private static func time(_ text: String) -> Duration? { Int64(text).flatMap { $0 == 0 ? nil : .microseconds($0) } }
}

extension UnitProperties {
    /// How a process ended.
    public enum Exit: Sendable, Equatable {
        /// With this exit status.
        case status(Int)
        /// By this signal.
        case signal(Int)
    }

    /// How a process ended, and when.
    private struct TimedExit: Equatable {
        let exit: Exit
        let time: Duration

        /// Reads a code of waitid(2), an exit status or a signal, and microseconds; nil if it did not fail.
        init?(_ text: String) {
            let numbers = text.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3, numbers[0] > 0, numbers[1] > 0, numbers[2] > 0 else { return nil }
            exit = numbers[0] == Int(CLD_EXITED) ? .status(numbers[1]) : .signal(numbers[1])
            time = .microseconds(numbers[2])
        }

        /// Whether it can be the cause of a result.
        func explains(_ result: String?) -> Bool {
            switch (exit, result) {
            case (.status, "exit-code"), (.signal, "signal"), (.signal, "core-dump"): true
            default: false
            }
        }
    }

    /// Whether a process made it fail, and signals do not tell how that process ended.
    package var lacksExit: Bool {
        activeState == "failed" && exit == nil && ["exit-code", "signal", "core-dump"].contains(result ?? "")
    }
}

extension UnitProperties {
    /// Why a job did not start its unit: the results that the unit's own state does not show
    /// (org.freedesktop.systemd1(5)).
    ///
    /// Not among them are `failed`, which the state shows, `canceled`, `skipped`, and `invalid`: a reload of a unit
    /// that does not run.
    public enum StartFailure: String, Sendable {
        case dependency, assert, timeout, unsupported
    }

    /// Keeps what the service manager has forgotten of the last run, unless the unit has run since.
    ///
    /// When it reloads, it forgets which condition failed and how commands ended. When it unloads the unit, it forgets
    /// everything. It never keeps why a job did not start the unit.
    mutating func keepKnowledge(of former: UnitProperties) {
        lastRun = lastRun ?? former.lastRun
        guard startedAt == nil || startedAt == former.startedAt, activeState == former.activeState else { return }
        if activeState == "inactive" {
            startFailure = former.startFailure
            if startedAt == nil { result = former.result }
        }
        if conditionsCheckedAt == nil || conditionsCheckedAt == former.conditionsCheckedAt && failedCondition == "" {
            (failedCondition, conditionsCheckedAt) = (former.failedCondition, former.conditionsCheckedAt)
        }
        if restarts == former.restarts, result == former.result {
            if commandExits.isEmpty { commandExits = former.commandExits }
            explainResult()
        }
    }
}
