// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusWorkers

@Suite("The text that an HTTP response must contain") struct ContainsTests {
    @Test(
        "the text is found anywhere in the body, but only as a whole",
        arguments: [
            ("ready", "ready", true), ("not ready yet", "ready", true), ("read", "ready", false), ("", "x", false),
            ("rereready", "reready", true), ("x\0ready", "ready", true), ("Zürich", "ü", true),
        ])
    func contains(_ body: String, _ text: String, _ isThere: Bool) {
        #expect(HTTPTransfer.contains(Array(body.utf8), text) == isThere)
    }

    @Test(
        "a search from an index finds what begins there or later",
        arguments: [(-3, true), (0, true), (2, true), (3, false)])
    func start(_ index: Int, _ isThere: Bool) {
        #expect(HTTPTransfer.contains(Array("a ready".utf8), "ready", from: index) == isThere)
    }
}
