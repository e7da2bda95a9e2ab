// SPDX-License-Identifier: Apache-2.0

import StatusWorkers

/// Why there was no response.
struct HTTPFailure: Error, Equatable {
    /// One short phrase in lower case without a full stop.
    let reason: String
    /// Whether this host lacks something, so that nothing is known of the server.
    var isLocal = false

    var outcome: HTTPOutcome { isLocal ? .notMade(reason: reason) : .unexpected(reason: reason) }
}
