// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSources

@Suite("HTTP checks") struct HTTPCheckTests {
    @Test(
        "a text is found wherever it is in the body, and only if all of it is",
        arguments: [
            ("ready", "ready", true), ("not ready yet", "ready", true), ("read", "ready", false), ("", "x", false),
            ("rereready", "reready", true), ("x\0ready", "ready", true), ("Zürich", "ü", true),
        ])
    func contains(_ body: String, _ text: String, _ isThere: Bool) {
        #expect(HTTPCheck.contains(Array(body.utf8), text) == isThere)
    }
}
