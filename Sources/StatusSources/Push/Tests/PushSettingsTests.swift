// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of servers that are posted to") struct PushSettingsTests {
    @Test("true or false, and nothing else")
    func reads() throws {
        #expect(try PushSettings.read("push: true").settings == PushSettings())
        #expect(try PushSettings.read("push: false").settings == nil)
        #expect(throws: Problem.self) { try PushSettings.read("push: db") }
    }
}
