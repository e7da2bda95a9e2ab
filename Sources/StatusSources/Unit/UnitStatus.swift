// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Systemd

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
        case ("inactive", "not-found"): self.init(.unknown, "there is no unit \(name)")
        case ("inactive", "masked"): self.init(.warning, "masked")
        case ("inactive", "loaded"), ("inactive", "merged"): self = Self.inactive(unit)
        case ("inactive", let problem): self.init(.critical, "cannot be loaded (\(problem))")
        case ("failed", _): self.init(.critical, Self.text(unit, unit.result ?? unit.subState))
        case ("active", _), ("reloading", _): self.init(.ok, Self.running(unit))
        case ("activating", _): self.init(.warning, Self.running(unit))
        default: self.init(.warning, Self.text(unit, unit.subState))
        }
    }

    /// What runs to its end again and again, as a backup does, is well while it does not run; all else is expected to run.
    private static func inactive(_ unit: UnitProperties) -> UnitStatus {
        let runsToItsEnd = unit.serviceType == "oneshot" && !unit.remainsAfterExit
        return UnitStatus(runsToItsEnd ? .ok : .warning, text(unit, unit.subState))
    }

    /// What the service says of itself, as long as it runs.
    private static func running(_ unit: UnitProperties) -> String { unit.statusText ?? text(unit, unit.subState) }

    /// As `systemctl status` has it: `active (running)`.
    private static func text(_ unit: UnitProperties, _ detail: String) -> String {
        detail.isEmpty || detail == unit.activeState ? unit.activeState : "\(unit.activeState) (\(detail))"
    }
}
