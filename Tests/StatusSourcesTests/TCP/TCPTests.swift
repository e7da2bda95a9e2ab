// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@testable import StatusSources

@Suite("Settings of TCP ports") struct TCPSettingsTests {
    @Test("a host and a port are read")
    func reads() throws {
        #expect(try TCPSettings.read("tcp: '[::1]:6379'").settings == TCPSettings(host: "::1", port: 6379))
        #expect(try TCPSettings.read("tcp: localhost:1").settings == TCPSettings(host: "localhost", port: 1))
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "6379", "127.0.0.1", "'127.0.0.1:0'", "'127.0.0.1:65536'", "'::1:80'", "'http://a:80'", "':80'", "'a b:80'",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try TCPSettings.read("tcp: \(value)") }
    }
}
