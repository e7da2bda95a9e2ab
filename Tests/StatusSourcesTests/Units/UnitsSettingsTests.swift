// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of several units") struct UnitsSettingsTests {
    @Test(
        "failed units, a pattern, a list, or both parts of a mapping",
        arguments: [
            ("failed", UnitsSettings(patterns: ["*"], state: .failed)),
            ("php*.service", UnitsSettings(patterns: ["php*.service"])),
            ("[nginx, 'a@[0-9].service']", UnitsSettings(patterns: ["nginx.service", "a@[0-9].service"])),
            ("{ match: 'web-?' }", UnitsSettings(patterns: ["web-?"])),
            (
                "{ match: ['*.service', x.timer], state: failed }",
                UnitsSettings(patterns: ["*.service", "x.timer"], state: .failed)
            ),
        ])
    func reads(_ value: String, _ settings: UnitsSettings) throws {
        #expect(try UnitsSettings.read("units: \(value)").settings == settings)
    }

    @Test("a full name is followed whether systemd knows it or not, unless only failures matter")
    func names() throws {
        let settings = try #require(try UnitsSettings.read("units: [nginx, 'a*.service', b.timer]").settings)
        #expect(settings.names == ["nginx.service", "b.timer"])
        #expect(settings.requirements == [.unit("nginx.service"), .unit("b.timer")])
        #expect(UnitsSettings(patterns: ["nginx.service"], state: .failed).names.isEmpty)
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "", "''", "[]", "a b*", "a/*", "[[a]]", "{ state: failed }", "{ match: a, state: stopped }",
            "[failed, a]", "true", "{ match: false }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try UnitsSettings.read("units: \(value)") }
    }
}
