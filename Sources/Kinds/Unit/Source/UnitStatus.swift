// SPDX-License-Identifier: Apache-2.0

import StatusModel
import SystemdClient

/// The status that a unit's properties mean for its server.
struct UnitStatus: Equatable {
    let level: Level
    let text: String

    init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text
    }

    init(_ unit: UnitProperties, of name: String) {
        switch (unit.activeState, unit.loadState) {
        case ("inactive", "not-found"): self.init(.unknown, "unit \(name) not found")
        case ("inactive", "masked"): self.init(.warning, "masked")
        case ("inactive", "loaded"), ("inactive", "merged"): self = Self.inactive(unit)
        case ("inactive", let problem): self.init(.critical, "cannot be loaded (\(problem))")
        case ("failed", _): self.init(.critical, Self.text(unit, unit.result ?? unit.subState))
        case ("activating", _) where unit.isRestarted: self.init(.warning, Self.restarting(unit))
        case _ where unit.isFrozen: self.init(.warning, Self.text(unit, unit.subState) + ", frozen")
        case _ where unit.isActive: self.init(.ok, Self.running(unit))
        case ("activating", _): self.init(unit.isRunningToItsEnd ? .ok : .warning, Self.running(unit))
        default:
            let isWell = unit.isRunningToItsEnd && unit.result ?? "success" == "success"
            self.init(isWell ? .ok : .warning, Self.text(unit, unit.subState))
        }
    }

    /// A oneshot, such as a backup, is ok while it does not run; every other unit is expected to run.
    private static func inactive(_ unit: UnitProperties) -> UnitStatus {
        if let failure = unit.startFailure, unit.runsToItsEnd {
            return UnitStatus(.critical, text(unit, unit.subState) + ", not started: \(failure.phrase)")
        }
        return UnitStatus(unit.runsToItsEnd ? .ok : .warning, text(unit, unit.subState))
    }

    /// Why it is restarted, and how often since its start.
    private static func restarting(_ unit: UnitProperties) -> String {
        let reason = unit.result.map { " after \($0)" } ?? ""
        let times = unit.restarts > 0 ? ", \(unit.restarts + 1) times" : ""
        return text(unit, unit.subState) + reason + times
    }

    private static func running(_ unit: UnitProperties) -> String { unit.statusText ?? text(unit, unit.subState) }

    /// As in `systemctl status`: `active (running)`.
    private static func text(_ unit: UnitProperties, _ detail: String) -> String {
        detail.isEmpty || detail == unit.activeState ? unit.activeState : "\(unit.activeState) (\(detail))"
    }
}

extension UnitProperties.StartFailure {
    fileprivate var phrase: String {
        switch self {
        case .dependency: "a dependency failed"
        case .assert: "an assertion failed"
        case .timeout: "the job timed out"
        case .unsupported: "not supported by this system"
        }
    }
}

extension UnitProperties {
    /// Whether it runs, which it does while it reloads, and from systemd 257 on, while it is refreshed.
    var isActive: Bool { ["active", "reloading", "refreshing"].contains(activeState) }

    /// Whether it is a oneshot that runs again and again, such as a backup.
    var runsToItsEnd: Bool { serviceType == "oneshot" && !remainsAfterExit }

    /// Whether a oneshot is running.
    ///
    /// To systemd, it is starting during its run, and stopping during what comes after that.
    var isRunningToItsEnd: Bool {
        guard serviceType == "oneshot" else { return false }
        return switch activeState {
        case "activating": !subState.hasPrefix("auto-restart")
        case "deactivating": !remainsAfterExit
        default: false
        }
    }

    /// Whether it has ended, and systemd will start it again.
    ///
    /// From systemd 254 on, it then passes through `auto-restart-queued`, too.
    var isRestarted: Bool { subState == "auto-restart" }
}
