// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of name servers") struct DNSSettingsTests {
    @Test("a name and all other keys are read")
    func reads() throws {
        var settings = DNSSettings(name: "example.org")
        #expect(try DNSSettings.read("dns: example.org.").settings == settings)
        #expect(settings.requirements == [.readableFile("/etc/resolv.conf")])
        (settings.type, settings.server, settings.port, settings.slow) = (.aaaa, "2620:fe::fe", 5353, .milliseconds(50))
        settings.expected = ["2001:db8::1", "2001:db8::2"]
        let (read, problems) = try DNSSettings.read(
            """
            dns:
              name: example.org
              type: AAAA
              server: "[2620:fe::fe]:5353"
              expect: ["2001:db8::1", "2001:db8::2"]
              slow: 50ms
            """)
        #expect(read == settings)
        #expect(problems == [])
        #expect(settings.requirements == [])
    }

    @Test(
        "a server is an address of either family, with or without a port",
        arguments: [
            ("9.9.9.9", "9.9.9.9", 53), ("127.0.0.1:5353", "127.0.0.1", 5353), ("2620:fe::fe", "2620:fe::fe", 53),
            ("[::1]", "::1", 53), ("fe80::1%eth0", "fe80::1%eth0", 53),
        ])
    func servers(_ text: String, _ address: String, _ port: UInt16) throws {
        let settings = try #require(try DNSSettings.read("dns: { name: a, server: '\(text)' }").settings)
        #expect((settings.server, settings.port) == (address, port))
    }

    @Test("each setting is a part of the subject")
    func subject() throws {
        let entries = [
            "a", "b", "{ name: a, type: AAAA }", "{ name: a, server: 9.9.9.9 }", "{ name: a, server: '9.9.9.9:54' }",
            "{ name: a, expect: 192.0.2.1 }", "{ name: a, slow: 1s }",
        ]
        let subjects = try entries.map { try DNSSettings.read("dns: \($0)").settings?.subjectParts }
        #expect(Set(subjects).count == entries.count)
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "müller.example", "a..b", "a b", "http://a", "'a:53'", "192.0.2.1", "'::1'", "[a]",
            "\(String(repeating: "a", count: 64)).org", "{ type: A }", "{ name: a, type: a }", "{ name: a, type: ANY }",
            "{ name: a, server: dns.example }", "{ name: a, server: '1.1.1.1:0' }", "{ name: a, expect: [] }",
            "{ name: a, expect: 2001:db8::1 }", "{ name: a, type: AAAA, expect: 192.0.2.1 }", "{ name: a, slow: 0 }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try DNSSettings.read("dns: \(value)") }
    }
}
