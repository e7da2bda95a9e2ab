// SPDX-License-Identifier: Apache-2.0

/// What the service manager says of a unit: properties of org.freedesktop.systemd1(5), in its words.
public struct UnitProperties: Sendable, Equatable {
    /// Whether there is such a unit: `loaded`, `not-found`, `masked`, `bad-setting`, `error` or `merged`.
    public var loadState = ""
    /// `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating` or `maintenance`.
    public var activeState = ""
    /// The state in the words of the unit's type, such as `running` or `auto-restart`.
    public var subState = ""
    /// How the last run ended, such as `success` or `exit-code`; nil where the unit's type knows no result.
    public var result: String?
    /// What a service last said of itself in one line; nil where it said nothing.
    public var statusText: String?
    /// When a service counts as started, such as `notify` or `oneshot`; nil where the unit is no service.
    public var serviceType: String?
    /// Whether a service counts as active when all of its processes have ended well (`RemainAfterExit=`).
    public var remainsAfterExit = false
    /// How often systemd has restarted a service since somebody started it.
    public var restarts = 0
    /// The process id of a service's main process; nil if there is none.
    public var mainProcess: Int32?
    /// Why it is inactive though it was to be started, as far as that was heard: the service manager keeps it nowhere.
    public var startFailure: StartFailure?
    /// Whether its processes are kept from running (`systemctl freeze`), by itself or by the slice that it is in.
    public var isFrozen = false
    /// Whether the service manager forgets the unit when it has failed (`CollectMode=inactive-or-failed`).
    public var isForgottenWhenFailed = false
    /// When it last began to start, by the monotonic clock (clock_gettime(2)); nil where it never did, as far as the service manager knows.
    public var startedAt: Duration?

    /// When it last became active, by the same clock; nil where it never did, as far as the service manager knows.
    ///
    /// That it reloads changes nothing about it.
    public var activeAt: Duration?
    /// When its state last changed, by the same clock; nil where it never did, as far as the service manager knows.
    public var changedAt: Duration?

    /// Nothing known.
    public init() {}
}

/// What a follower of a unit is told.
public enum UnitObservation: Sendable, Equatable {
    /// What the unit is like now; one that does not exist is, too: its load state says so.
    case properties(UnitProperties)
    /// Why there is nothing to be known: one phrase without a dot at its end.
    case unreachable(String)
    /// The service manager did not answer in time (``UnitSubscription/read(within:)``).
    case unanswered
}

extension UnitProperties {
    /// The properties' names on the bus; `Id` is the unit's own name where it was asked for by another one.
    static let names: Set<String> = [
        "Id", "LoadState", "ActiveState", "SubState", "Result", "StatusText", "Type", "RemainAfterExit",
        "NRestarts", "MainPID", "InactiveExitTimestampMonotonic", "CollectMode",
        "FreezerState", "ActiveEnterTimestampMonotonic", "StateChangeTimestampMonotonic",
    ]

    /// Takes over what came with a reply or a signal.
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
            // A run that was so short that nothing else of it was said.
            if let time, time != startedAt { startFailure = nil }
            startedAt = time
        }
        if let value = values["ActiveEnterTimestampMonotonic"] { activeAt = Self.time(value) }
        if let value = values["StateChangeTimestampMonotonic"] { changedAt = Self.time(value) }
        guard isService else { return }
        if let value = values["MainPID"].flatMap({ Int32($0) }) { mainProcess = value == 0 ? nil : value }
        if let value = values["NRestarts"].flatMap({ Int($0) }) { restarts = value }
        if let value = values["StatusText"] { statusText = value.isEmpty ? nil : value }
        // A mount has a property of this name as well, the file system's.
        if let value = values["Type"] { serviceType = value.isEmpty ? nil : value }
        if let value = values["RemainAfterExit"] { remainsAfterExit = value == BusMessage.truth }
    }

    /// A time in microseconds; nil for none, which is 0.
    private static func time(_ text: String) -> Duration? {
        Int64(text).flatMap { $0 == 0 ? nil : .microseconds($0) }
    }
}

extension UnitProperties {
    /// Results of a job for which a unit is not started, of org.freedesktop.systemd1(5).
    ///
    /// What fails by itself is `failed`; `invalid` is the result if a unit is to be reloaded that does not run.
    public enum StartFailure: String, Sendable {
        case dependency, assert, timeout, unsupported
    }

    /// Takes over why it was not started before, unless there was a run since then.
    mutating func keepStartFailure(of former: UnitProperties) {
        guard activeState == "inactive", startedAt == nil || startedAt == former.startedAt else { return }
        startFailure = former.startFailure
    }

    /// Whether a run is known that has ended, after which the unit may be unloaded.
    var isEndOfRun: Bool { loadState == "loaded" && activeState == "inactive" && startedAt != nil }
}
