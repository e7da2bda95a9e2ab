// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of notify sockets") struct NotifySettingsTests {
    @Test("true or false, and the users who may send")
    func reads() throws {
        #expect(try NotifySettings.read("notify: true").settings == NotifySettings())
        #expect(try NotifySettings.read("notify: false").settings == nil)
        let settings = try #require(try NotifySettings.read("notify: { users: [postgres, 33] }").settings)
        #expect(settings == NotifySettings(users: ["postgres", "33"]))
        #expect(settings.requirements == [.user("postgres"), .user("33")])
    }

    @Test("a change of users does not make it another source")
    func subject() {
        #expect(NotifySettings(users: ["postgres"]).subject == NotifySettings())
    }

    @Test(
        "invalid settings are refused",
        arguments: ["yes please", "[postgres]", "{ users: postgres }", "{ user: [postgres] }"])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try NotifySettings.read("notify: \(value)") }
    }
}
