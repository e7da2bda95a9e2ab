// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of push servers") struct PushSettingsTests {
    @Test("true and false are read, and nothing else")
    func reads() throws {
        #expect(try PushSettings.read("push: true").settings == PushSettings())
        #expect(try PushSettings.read("push: false").settings == nil)
        #expect(throws: Problem.self) { try PushSettings.read("push: db") }
    }
}
