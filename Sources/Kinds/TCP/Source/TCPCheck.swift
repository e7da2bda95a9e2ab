// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import NotificationStreams
public import SourceKinds
import StatusModel

/// `tcp: host:port`: checks whether a server accepts connections at a port, and how quickly.
struct TCPCheck: Check {
    private let timeout: Duration
    private let addresses: HostAddresses

    var resource: CheckBudget.Resource { .connection }

    init(host: String, port: UInt16, timeout: Duration) {
        self.timeout = timeout
        addresses = HostAddresses(of: host, port: port)
    }

    func run() async throws -> CheckResult {
        do {
            let began = ContinuousClock.now
            let addresses = try await addresses.lookUp(within: timeout)
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
            let latency = try await withTimeLimit(limit) { try await TCPConnection.probe(addresses) }
            return CheckResult(.ok, "connected", latency: latency)
        } catch is TimeLimitExceeded {
            return CheckResult(.critical, "no answer within \(TimeSpan.text(timeout))")
        }
    }
}

extension TCPSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        TCPCheck(host: host, port: port, timeout: order.schedule.timeout)
    }
}

/// The addresses of a host, for the checks of one source.
///
/// Checks share a lookup, so that a hanging resolver is not asked again before it has answered.
struct HostAddresses: Sendable {
    private let host: String
    private let addresses: SharedLoad<[InternetAddress], any Error>

    init(of host: String, port: UInt16) {
        self.host = host
        addresses = SharedLoad(name: "addresses of \(host)") { try await Resolver.lookUp(host, port: port) }
    }

    /// Looks up the addresses.
    ///
    /// - Throws: ``FailedLookUp`` if the lookup fails or times out; ``CheckFailure`` if it may not have begun.
    func lookUp(within timeout: Duration) async throws -> [InternetAddress] {
        do {
            return try await withTimeLimit(timeout) { try await addresses.load() }
        } catch is TimeLimitExceeded {
            // The lookup may not have begun, so the state of the host is unknown.
            if await Resolver.isFull {
                throw CheckFailure(
                    "cannot look up host \(host): too many lookups are unanswered; see “resolvectl status”")
            }
            throw FailedLookUp(host: host, unansweredFor: TimeSpan.text(timeout))
        }
    }
}
