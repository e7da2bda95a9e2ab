// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
import StatusModel

/// The addresses of a host, for the checks of one source.
///
/// All loads share a lookup: a resolver that hangs is not asked again before it has answered.
struct HostAddresses: Sendable {
    private let host: String
    private let addresses: SharedLoad<[InternetAddress], any Error>

    init(of host: String, port: UInt16) {
        self.host = host
        addresses = SharedLoad(name: "addresses of \(host)") { try await Resolver.lookUp(host, port: port) }
    }

    /// Looks up the addresses.
    ///
    /// - Throws: ``FailedLookUp``, also if there is no answer within the timeout; ``CheckFailure`` if the lookup may
    ///   not have begun.
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
