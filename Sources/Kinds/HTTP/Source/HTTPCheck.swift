// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
public import SourceKinds
import StatusModel
import StatusMonitor
import StatusWorkers

/// `http: { url: … }`: checks whether an HTTP server answers as expected, and how quickly.
///
/// A worker process loads libcurl and makes the request, so that a hostile server cannot disturb other requests or the
/// daemon.
struct HTTPCheck: Check {
    /// How long the daemon waits after the timeout, which libcurl checks itself, but only when it waits for data.
    private static let grace = Duration.seconds(1)
    let request: HTTPRequest
    let server: ServerName
    let pool: WorkerPool<HTTPRequest>

    var resource: CheckBudget.Resource { .request }

    func run() async throws -> CheckResult {
        do {
            let outcome = try await pool.run(request, of: server, within: request.timeout + Self.grace)
            if let outcome { return try judge(outcome) }
            let reason = "no answer within \(TimeSpan.text(request.timeout))"
            // The worker was not even able to end the request, which may be this host's fault.
            if let deadDisk { throw CheckFailure("\(reason); \(deadDisk)") }
            return CheckResult(.critical, reason)
        } catch is WorkerLost {
            throw CheckFailure(
                "the worker ended during the request; the response may have been too large"
                    + (deadDisk.map { ", or \($0)" } ?? ""))
        } catch let error as StuckCheck {
            throw CheckFailure("\(error)" + (deadDisk.map { "; \($0)" } ?? ""))
        }
    }

    private func judge(_ outcome: HTTPOutcome) throws -> CheckResult {
        switch outcome {
        case .expected(let statusCode, let duration, let certificate):
            let expiry = certificate.flatMap { life in
                request.expires.map { ExpiryJudgement(life, expires: $0, now: Moment.now().wall) }
            }
            let latency = Latency(duration, slow: request.slow)
            if request.handshake != nil { return try judge(expiry, latency) }
            return judge("HTTP \(statusCode)", expiry, latency)
        case .unexpected(let reason): return CheckResult(.critical, reason)
        case .notMade(let reason): throw CheckFailure(reason)
        }
    }

    /// Judges a handshake.
    private func judge(_ expiry: ExpiryJudgement?, _ latency: Latency) throws -> CheckResult {
        guard let expiry else { throw CheckFailure("cannot read the expiry date of the certificate") }
        let text = (expiry.issuer.map { "\($0) " } ?? "") + expiry.text
        return expiry.result(text, latency)
    }

    /// Judges a response; its certificate is only mentioned if it expires soon.
    private func judge(_ text: String, _ expiry: ExpiryJudgement?, _ latency: Latency) -> CheckResult {
        guard let expiry, expiry.level != .ok else {
            return CheckResult(.ok, text, latency: latency, values: expiry.map { [$0.value] } ?? [])
        }
        return expiry.result("\(text); \(expiry.issuer ?? "certificate") \(expiry.text)", latency)
    }

    /// A hint that the disk of the request's file may be the cause, if the request has a file.
    private var deadDisk: String? { request.certificateAuthority.map { "\($0) may be on a disk that does not answer" } }
}

extension HTTPSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        HTTPCheck(
            request: HTTPRequest(self, userAgent: order.environment.userAgent, timeout: order.schedule.timeout),
            server: order.server, pool: order.environment.shared(WorkerPool<HTTPRequest>.self))
    }
}

extension HTTPRequest: WorkerCall {
    typealias Answer = HTTPOutcome

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(
            place: .ownProgram, role: .httpWorker, purpose: "make HTTP requests",
            losses: LogLimiter(environment.logger, .warning))
    }
}
