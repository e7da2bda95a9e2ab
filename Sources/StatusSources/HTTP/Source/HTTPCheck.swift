// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
public import StatusModel
public import StatusWorkers

/// `http: { url: … }`: whether an HTTP server answers as it should, and how quickly.
public struct HTTPCheck: Check {
    /// What a worker, which keeps the time itself, may take longer than that before it is said not to answer.
    private static let grace = Duration.seconds(1)
    private let request: HTTPRequest
    private let server: ServerName
    private let pool: HTTPPool

    public var resource: CheckBudget.Resource { .request }

    /// A check of one answer.
    public init(_ request: HTTPRequest, of server: ServerName, pool: HTTPPool) {
        self.request = request
        self.server = server
        self.pool = pool
    }

    public func run() async throws -> CheckResult {
        do {
            let outcome = try await pool.run(request, of: server, within: request.timeout + Self.grace)
            if let outcome { return try judge(outcome) }
            let reason = "timed out after \(TimeSpan.text(request.timeout))"
            return CheckResult(.critical, reason + (deadDisk.map { "; \($0)" } ?? ""))
        } catch is WorkerLost {
            throw CheckFailure(
                "the process of the request ended; the response may have exceeded its limits"
                    + (deadDisk.map { ", or \($0)" } ?? ""))
        } catch let error as StuckCheck {
            throw CheckFailure(
                "the process of the last check does not end\(error.asWithOthers); no new one is started"
                    + (deadDisk.map { "; \($0)" } ?? ""))
        }
    }

    private func judge(_ outcome: HTTPOutcome) throws -> CheckResult {
        switch outcome {
        case .expected(let statusCode, let duration): CheckResult(.ok, "HTTP \(statusCode)", latency: duration)
        case .unexpected(let reason): CheckResult(.critical, reason)
        case .notMade(let reason): throw CheckFailure(reason)
        }
    }

    private var deadDisk: String? {
        request.certificateAuthority.map { "\($0) may be on a disk that does not answer" }
    }
}
