// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import SourceKinds
import StatusModel

/// `tcp: host:port`: checks whether a server accepts connections at a port, and how quickly.
struct TCPCheck: Check {
    private let timeout: Duration
    private let slow: Duration?
    private let lookUp: HostLookUp

    var resource: CheckBudget.Resource { lookUp.resource }

    @EventLoop init(_ settings: TCPSettings, _ order: SourceOrder) {
        (timeout, slow) = (order.schedule.timeout, settings.slow)
        lookUp = HostLookUp(settings.host, port: settings.port, order)
    }

    func run() async throws -> CheckResult {
        do {
            let began = ContinuousClock.now
            let addresses = try await lookUp.addresses(within: timeout)
            return try await connect(to: addresses, within: timeout - (ContinuousClock.now - began))
        } catch let error as FailedLookUp {
            return CheckResult(.critical, "\(error)")
        } catch let error as IOError {
            // If this host has no descriptor or port left, the state of the server is unknown.
            if error.code == .exhausted { throw CheckFailure(error.message) }
            return CheckResult(.critical, String(cString: strerror(error.errno)).asPhrase)
        }
    }

    private func connect(to addresses: [InternetAddress], within limit: Duration) async throws -> CheckResult {
        do {
            let connection = try await withTimeLimit(limit) { try await TCPConnection.probe(addresses) }
            await connection.close()
            return CheckResult(.ok, "connected", latency: Latency(connection.latency, slow: slow))
        } catch is TimeLimitExceeded {
            return CheckResult(.critical, "no answer within \(TimeSpan.text(timeout))")
        }
    }
}

extension TCPSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { TCPCheck(self, order) }
}
