// SPDX-License-Identifier: Apache-2.0

import StatusWorkers
import Testing
import Varlink

@testable import SourceKinds

@Suite("Messages between the daemon and the worker that makes HTTP requests") struct HTTPMessagesTests {
    private func received<Value: JSONReadable & JSONWritable>(_ value: Value) throws -> Value {
        try WorkerMessage.encode(value).dropLast().withUnsafeBytes { try WorkerMessage.decode(from: $0) }
    }

    @Test("a request arrives unchanged")
    func request() throws {
        var request = HTTPRequest(
            HTTPSettings(url: "https://a/ü"), userAgent: "statusd/1", timeout: .milliseconds(1500))
        #expect(try received(request) == request)
        request.settings.method = "POST"
        request.settings.headers = ["A: b", "C: "]
        request.settings.certificateAuthority = "/ca.pem"
        request.settings.redirects = 0
        request.settings.statusCodes = [200...200, 400...499]
        request.settings.contains = "ready"
        request.settings.socket = "/run/a.sock"
        request.settings.proxy = "http://a:1"
        request.settings.body = "{}"
        request.settings.matches = "a+"
        request.settings.credentials = [CredentialField(field: "A", name: "b")]
        request.settings.expires = .seconds(60)
        let path = try #require(JSONPath(#".a."b c"[0]"#))
        for equals in [nil, JSONScalar.text(""), .text("x"), .number(1.5), .flag(false), .flag(true), .null] {
            request.settings.json = JSONExpectation(path: path, equals: equals)
            #expect(try received(request) == request)
        }
        request.settings.expires = nil
        #expect(try received(request) == request)
    }

    @Test("a handshake arrives unchanged, with the name of the certificate in its URL")
    func handshake() throws {
        var settings = CertificateSettings(host: "10.0.0.5", port: 25)
        settings.name = "mail.example"
        settings.startTLS = .smtp
        let request = HTTPRequest(settings, timeout: .seconds(1))
        #expect(request.settings.url == "smtp://mail.example:25/")
        #expect(request.handshake?.address == "10.0.0.5:25")
        #expect(try received(request) == request)
    }

    @Test(
        "an answer arrives unchanged",
        arguments: [
            HTTPOutcome.expected(statusCode: 200, duration: .microseconds(1234)), .unexpected(reason: "gone"),
            .notMade(reason: "no libcurl"),
            .expected(statusCode: 0, duration: .zero, certificate: CertificateLife(start: 1, end: 2, issuer: "R11")),
        ])
    func answer(_ outcome: HTTPOutcome) throws {
        #expect(try received(outcome) == outcome)
    }
}
