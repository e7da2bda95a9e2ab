// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import StatusWorkers
import Systemd

/// `http: { url: … }`: whether an HTTP server answers as it should, and how quickly.
public struct HTTPCheck: Check {
    private let request: HTTPRequest
    private let server: ServerName
    private let pool: HTTPPool

    public var resource: CheckBudget.Resource { .connection }

    /// A check of one answer.
    public init(_ request: HTTPRequest, of server: ServerName, pool: HTTPPool) {
        self.request = request
        self.server = server
        self.pool = pool
    }

    public func run() async throws -> CheckResult {
        switch try await pool.perform(request, of: server) {
        case .expected(let statusCode, let duration): CheckResult(.ok, "HTTP \(statusCode)", latency: duration)
        case .unexpected(let reason): CheckResult(.critical, reason)
        case .notMade(let reason): throw CheckFailure(reason)
        }
    }
}
