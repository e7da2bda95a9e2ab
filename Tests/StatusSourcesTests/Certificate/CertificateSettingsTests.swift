// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of certificates") struct CertificateSettingsTests {
    @Test("a host, a port and all other keys are read; the port is that of the protocol")
    func reads() throws {
        #expect(
            try CertificateSettings.read("certificate: a.example").settings
                == CertificateSettings(host: "a.example", port: 443))
        #expect(
            try CertificateSettings.read("certificate: '[::1]:636'").settings
                == CertificateSettings(host: "[::1]", port: 636))
        var mail = CertificateSettings(host: "10.0.0.5", port: 25)
        (mail.name, mail.startTLS, mail.expires, mail.certificateAuthority) =
            ("mail.example", .smtp, .seconds(86_400), "/ca.pem")
        let (settings, problems) = try CertificateSettings.read(
            "certificate: { host: 10.0.0.5, starttls: smtp, name: mail.example, expires: 1d, ca: /ca.pem }")
        #expect(settings == mail)
        #expect(problems == [])
        #expect(mail.requirements == [.library("libcurl.so.4", package: "libcurl4"), .readableFile("/ca.pem")])
    }

    @Test("the port of IMAP and POP3 is a default, and a configured one stays")
    func ports() throws {
        for (entry, port) in [("imap", 143), ("pop3", 110)] {
            #expect(
                try CertificateSettings.read("certificate: { host: a, starttls: \(entry) }").settings?.port
                    == UInt16(port))
        }
        #expect(try CertificateSettings.read("certificate: { starttls: smtp, host: 'a:587' }").settings?.port == 587)
    }

    @Test("each setting is part of the subject")
    func subject() {
        let settings = CertificateSettings(host: "a", port: 443)
        let changes: [(inout CertificateSettings) -> Void] = [
            { $0.host = "b" }, { $0.port = 444 }, { $0.name = "b" }, { $0.startTLS = .smtp }, { $0.expires = .zero },
            { $0.certificateAuthority = "/a" },
        ]
        for change in changes {
            var changed = settings
            change(&changed)
            #expect(changed.subjectParts != settings.subjectParts)
        }
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "'a:0'", "'a:65536'", "https://a", "'a/b'", "'a?b'", "'a#b'", "'a%b'", "'a b'", "':443'", "{ expires: 1d }",
            "{ host: a, expires: 1s }", "{ host: a, starttls: https }", "{ host: a, name: 'b:443' }",
            "{ host: a, name: 'b/c' }", "{ host: a, ca: ca.pem }", "ä.example",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try CertificateSettings.read("certificate: \(value)") }
    }
}
