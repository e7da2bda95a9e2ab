// SPDX-License-Identifier: Apache-2.0

import StatusModel
import SystemdClient

/// What a unit's properties mean for a server.
struct UnitStatus: Equatable {
    let level: Level
    let text: String

    init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text
    }

    /// The status that follows from the properties of the unit of this name.
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

    /// What runs to its end again and again, as a backup does, is well while it does not run; all else is expected to run.
    private static func inactive(_ unit: UnitProperties) -> UnitStatus {
        if let failure = unit.startFailure, unit.runsToItsEnd {
            return UnitStatus(.critical, text(unit, unit.subState) + ", not started: \(failure.phrase)")
        }
        return UnitStatus(unit.runsToItsEnd ? .ok : .warning, text(unit, unit.subState))
    }

    /// Why it is restarted, and which time this is since somebody started it.
    private static func restarting(_ unit: UnitProperties) -> String {
        let reason = unit.result.map { " after \($0)" } ?? ""
        let times = unit.restarts > 0 ? ", \(unit.restarts + 1) times" : ""
        return text(unit, unit.subState) + reason + times
    }

    /// What the service says of itself, as long as it runs.
    private static func running(_ unit: UnitProperties) -> String { unit.statusText ?? text(unit, unit.subState) }

    /// As `systemctl status` has it: `active (running)`.
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
    /// Whether it runs; it does while it reloads, or is refreshed as from systemd 257 on.
    var isActive: Bool { ["active", "reloading", "refreshing"].contains(activeState) }

    /// Whether it runs to its end again and again, as a backup does.
    var runsToItsEnd: Bool { serviceType == "oneshot" && !remainsAfterExit }

    /// Whether it is on its way to its end: to systemd a oneshot is starting as long as it runs, and stopping as long as what comes after that runs.
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
    /// Then it passes through `auto-restart-queued`, too, from systemd 254 on.
    var isRestarted: Bool { subState == "auto-restart" }
}
