// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Systemd

/// What a unit's properties mean for a server.
enum UnitStatus: Equatable {
    case status(Level, String)
    /// There is no such unit.
    case missing

    init(_ unit: UnitProperties) {
        switch (unit.activeState, unit.loadState) {
        case ("inactive", "not-found"): self = .missing
        case ("inactive", "masked"): self = .status(.warning, "masked")
        case ("inactive", "loaded"), ("inactive", "merged"): self = Self.inactive(unit)
        case ("inactive", let problem): self = .status(.critical, "cannot be loaded (\(problem))")
        case ("failed", _): self = .status(.critical, Self.text(unit, unit.result ?? unit.subState))
        case ("active", _), ("reloading", _): self = .status(.ok, Self.running(unit))
        case ("activating", _): self = .status(.warning, Self.running(unit))
        default: self = .status(.warning, Self.text(unit, unit.subState))
        }
    }

    /// What runs to its end again and again, as a backup does, is well while it does not run; all else is expected to run.
    private static func inactive(_ unit: UnitProperties) -> UnitStatus {
        let runsToItsEnd = unit.serviceType == "oneshot" && !unit.remainsAfterExit
        return .status(runsToItsEnd ? .ok : .warning, text(unit, unit.subState))
    }

    /// What the service says of itself, as long as it runs.
    private static func running(_ unit: UnitProperties) -> String { unit.statusText ?? text(unit, unit.subState) }

    /// As `systemctl status` has it: `active (running)`.
    private static func text(_ unit: UnitProperties, _ detail: String) -> String {
        detail.isEmpty || detail == unit.activeState ? unit.activeState : "\(unit.activeState) (\(detail))"
    }
}
