// SPDX-License-Identifier: Apache-2.0

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
    static let names: Set<String> = [
        "Id", "LoadState", "ActiveState", "SubState", "Result", "StatusText", "Type", "RemainAfterExit",
        "NRestarts", "MainPID", "InactiveExitTimestampMonotonic", "CollectMode",
        "FreezerState", "ActiveEnterTimestampMonotonic", "StateChangeTimestampMonotonic",
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
            // There was another run, so short that its other states were not reported.
            if let time, time != startedAt { startFailure = nil }
            startedAt = time
        }
        if let value = values["ActiveEnterTimestampMonotonic"] { activeAt = Self.time(value) }
        if let value = values["StateChangeTimestampMonotonic"] { changedAt = Self.time(value) }
        guard isService else { return }
        if let value = values["MainPID"].flatMap({ Int32($0) }) { mainProcess = value == 0 ? nil : value }
        if let value = values["NRestarts"].flatMap({ Int($0) }) { restarts = value }
        if let value = values["StatusText"] { statusText = value.isEmpty ? nil : value }
        // A mount also has a property of this name: the file system's type.
        if let value = values["Type"] { serviceType = value.isEmpty ? nil : value }
        if let value = values["RemainAfterExit"] { remainsAfterExit = value == BusMessage.truth }
    }

    /// Converts microseconds to a time; 0 means none.
    private static func time(_ text: String) -> Duration? { Int64(text).flatMap { $0 == 0 ? nil : .microseconds($0) } }
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

    /// Keeps the former reason why it was not started, unless it has run since.
    mutating func keepStartFailure(of former: UnitProperties) {
        guard activeState == "inactive", startedAt == nil || startedAt == former.startedAt else { return }
        startFailure = former.startFailure
    }
}
