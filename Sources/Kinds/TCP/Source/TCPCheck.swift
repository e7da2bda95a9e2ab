// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import NotificationStreams
public import SourceKinds
import StatusModel

/// `tcp: host:port`: checks whether a server accepts connections at a port, and how quickly.
struct TCPCheck: Check {
    private let host: String
    private let timeout: Duration
    private let slow: Duration?
    /// The lookup of the host; checks share it, so that a hanging resolver is not asked again before it has answered.
    private let lookup: SharedLoad<[InternetAddress], any Error>

    var resource: CheckBudget.Resource { .connection }

    init(_ settings: TCPSettings, timeout: Duration) {
        let (host, port) = (settings.host, settings.port)
        (self.host, self.timeout, slow) = (host, timeout, settings.slow)
        lookup = SharedLoad(name: "addresses of \(host)") { try await Resolver.lookUp(host, port: port) }
    }

    func run() async throws -> CheckResult {
        do {
            let began = ContinuousClock.now
            let addresses = try await addresses()
            return try await connect(to: addresses, within: timeout - (ContinuousClock.now - began))
        } catch let error as FailedLookUp {
            return CheckResult(.critical, "\(error)")
        } catch let error as IOError {
            // If this host has no descriptor or port left, the state of the server is unknown.
            if error.code == .exhausted { throw CheckFailure(error.message) }
            return CheckResult(.critical, String(cString: strerror(error.errno)).asPhrase)
        }
    }

    /// Looks up the addresses.
    ///
    /// - Throws: ``FailedLookUp`` if the lookup fails or times out; ``CheckFailure`` if it may not have begun.
    private func addresses() async throws -> [InternetAddress] {
        do {
            return try await withTimeLimit(timeout) { try await lookup.load() }
        } catch is TimeLimitExceeded {
            // The lookup may not have begun, so the state of the host is unknown.
            if await Resolver.isFull {
                throw CheckFailure(
                    "cannot look up host \(host): too many lookups are unanswered; see “resolvectl status”")
            }
            throw FailedLookUp(host: host, unansweredFor: TimeSpan.text(timeout))
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
    public func makeCheck(_ order: SourceOrder) -> any Check {
        TCPCheck(self, timeout: order.schedule.timeout)
    }
}
