// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
public import SourceKinds
import StatusModel
import StatusWorkers

/// `dns: name`: checks whether a name server answers as expected, and how quickly.
///
/// A worker process asks and reads the answer, so that a hostile server cannot disturb the daemon.
struct DNSCheck: Check {
    /// How long the daemon waits after the timeout, which the worker checks itself.
    private static let grace = Duration.seconds(1)
    let request: DNSRequest
    let server: ServerName
    let pool: WorkerPool<DNSRequest>

    var resource: CheckBudget.Resource { .request }

    func run() async throws -> CheckResult {
        do {
            switch try await pool.run(request, of: server, within: request.timeout + Self.grace) {
            case .expected(let text, let lifetime, let duration)?:
                // The lifetime in a cache always changes, so the text does not have it.
                return CheckResult(
                    .ok, text, latency: Latency(duration, slow: request.settings.slow),
                    unshown: [MeasuredValue("ttl", Double(lifetime), "s")])
            case .unexpected(let reason)?: return CheckResult(.critical, reason)
            case .notAsked(let reason)?: throw CheckFailure(reason)
            // The worker itself has a timeout, so this host is the cause.
            case nil: throw CheckFailure("the worker does not answer within \(TimeSpan.text(request.timeout))")
            }
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the question")
        } catch let error as StuckCheck {
            throw CheckFailure("\(error)")
        }
    }
}

extension DNSSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        DNSCheck(
            request: DNSRequest(self, timeout: order.schedule.timeout), server: order.server,
            pool: order.environment.shared(WorkerPool<DNSRequest>.self))
    }
}

extension DNSRequest: WorkerCall {
    typealias Answer = DNSOutcome

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(
            place: .ownProgram, role: .dnsWorker, purpose: "ask name servers",
            losses: LogLimiter(environment.logger, .warning))
    }
}
