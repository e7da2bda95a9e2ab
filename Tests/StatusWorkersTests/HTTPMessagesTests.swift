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
        #expect(try received(request) == request)
    }

    @Test(
        "an answer arrives unchanged",
        arguments: [
            HTTPOutcome.expected(statusCode: 200, duration: .microseconds(1234)), .unexpected(reason: "gone"),
            .notMade(reason: "no libcurl"),
        ])
    func answer(_ outcome: HTTPOutcome) throws {
        #expect(try received(outcome) == outcome)
    }
}
