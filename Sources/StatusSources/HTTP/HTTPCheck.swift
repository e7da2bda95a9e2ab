// SPDX-License-Identifier: Apache-2.0

import CCurl
import StatusModel
import Systemd

/// `http: { url: … }`: whether an HTTP server answers as it should, and how quickly.
public struct HTTPCheck: Check {
    /// What is asked, and what the answer should be.
    public struct Expectation: Sendable {
        /// Where; http or https.
        public var url: String
        /// The request's method.
        public var method = "GET"
        /// The request's own header fields, as `Name: value`.
        public var headers: [String] = []
        /// A file with the certificates to trust; nil for the system's.
        public var certificateAuthority: String?
        /// How many redirects are followed.
        public var redirects = 5
        /// The status codes that are right.
        public var statusCodes = [200...299]
        /// What has to stand in the first MiB of the body.
        public var contains: String?

        /// A GET of `url` that is to be answered with success.
        public init(url: String) { self.url = url }
    }

    private let expectation: Expectation
    private let timeout: Duration
    private let client: HTTPClient

    public var resource: CheckBudget.Resource { .connection }

    /// A check of one answer.
    public init(_ expectation: Expectation, timeout: Duration, client: HTTPClient) {
        self.expectation = expectation
        self.timeout = timeout
        self.client = client
    }

    public func run() async throws -> CheckResult {
        do {
            return judge(try await client.perform(request))
        } catch let failure as HTTPFailure {
            if failure.isLocal { throw CheckFailure(failure.reason) }
            return CheckResult(.critical, failure.reason)
        }
    }

    private var request: HTTPRequest {
        HTTPRequest(
            url: expectation.url, method: expectation.method, headers: expectation.headers,
            caFile: expectation.certificateAuthority, redirects: expectation.redirects, timeout: timeout)
    }

    private func judge(_ response: HTTPResponse) -> CheckResult {
        guard expectation.statusCodes.contains(where: { $0.contains(response.statusCode) }) else {
            return CheckResult(.critical, "expected \(expectedCodes), got \(response.statusCode)")
        }
        if let text = expectation.contains, !Self.contains(response.body, text) {
            let place = response.isBodyCut ? "the first \(response.body.count / 1024) KiB of the answer" : "the answer"
            return CheckResult(.critical, "expected “\(text)”, which is not in \(place)")
        }
        return CheckResult(.ok, "HTTP \(response.statusCode)", latency: response.duration)
    }

    /// Whether a text is somewhere in the bytes; takes time in proportion to their number, whatever they are (memmem(3)).
    static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let part = Array(text.utf8)
        return memmem(bytes, bytes.count, part, part.count) != nil
    }

    private var expectedCodes: String {
        expectation.statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }
}
