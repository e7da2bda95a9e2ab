// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import NotificationStreams
import StatusModel

/// The lookup of a check's host; its runs share it, so that a hanging resolver is not asked again before it has
/// answered.
struct SharedLookUp: Sendable {
    private let host: String
    private let load: SharedLoad<[InternetAddress], any Error>

    init(_ host: String, port: UInt16 = 0) {
        self.host = host
        load = SharedLoad(name: "addresses of \(host)") { try await Resolver.lookUp(host, port: port) }
    }

    /// Returns the addresses, in the order in which to try them.
    ///
    /// - Throws: ``FailedLookUp`` if the lookup fails or times out; ``CheckFailure`` if it may not have begun.
    func addresses(within limit: Duration) async throws -> [InternetAddress] {
        do {
            return try await withTimeLimit(limit) { try await load.load() }
        } catch is TimeLimitExceeded {
            // The lookup may not have begun, so the state of the host is unknown.
            if await Resolver.isFull {
                throw CheckFailure(
                    "cannot look up host \(host): too many lookups are unanswered; see “resolvectl status”")
            }
            throw FailedLookUp(host: host, unansweredFor: TimeSpan.text(limit))
        }
    }
}
