// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of plugins") struct ExecSettingsTests {
    @Test("a command with its arguments, which must exist")
    func reads() throws {
        let settings = try #require(try ExecSettings.read("exec: [/bin/check, -w, 10%, \"\"]").settings)
        #expect(settings == ExecSettings(command: ["/bin/check", "-w", "10%", ""]))
        #expect(settings.requirements == [.program("/bin/check")])
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "/bin/true", "[]", "[/bin/a, \(String(repeating: "x", count: 16_384))]", "[check_disk]", "[/bin/a, [b]]",
            "[/bin/a, \"\\0\"]",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try ExecSettings.read("exec: \(value)") }
    }
}
