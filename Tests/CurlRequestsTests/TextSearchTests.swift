// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CurlRequests

@Suite("The text that an HTTP server's answer should have") struct TextSearchTests {
    @Test(
        "it is found wherever it is in the body, and only if all of it is, however the body comes",
        arguments: [
            ("ready", "ready", true), ("not ready yet", "ready", true), ("read", "ready", false), ("", "x", false),
            ("rereready", "reready", true), ("x\0ready", "ready", true), ("Zürich", "ü", true), ("", "", true),
        ])
    func found(_ body: String, _ text: String, _ isThere: Bool) {
        let bytes = Array(body.utf8)
        for length in 1...max(1, bytes.count) {
            var search = TextSearch(text)
            for start in stride(from: 0, to: bytes.count, by: length) {
                bytes[start..<min(start + length, bytes.count)].withUnsafeBytes { search.look(at: $0) }
            }
            #expect(search.isFound == isThere)
        }
    }
}
