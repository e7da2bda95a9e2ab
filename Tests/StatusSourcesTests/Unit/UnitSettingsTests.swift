// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of units") struct UnitSettingsTests {
    @Test(
        "a unit's name, with or without its suffix",
        arguments: [
            ("postgresql", "postgresql.service"), ("data.mount", "data.mount"), ("a.b", "a.b.service"),
            ("backup@home", "backup@home.service"),
        ])
    func reads(_ name: String, _ unit: String) throws {
        #expect(try UnitSettings.read("unit: \(name)").settings == UnitSettings(unit: unit))
    }

    @Test("invalid settings are refused", arguments: ["a/b", "backup@.service", "''", "[a]", ""])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try UnitSettings.read("unit: \(value)") }
    }
}
