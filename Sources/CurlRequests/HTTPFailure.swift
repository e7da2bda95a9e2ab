// SPDX-License-Identifier: Apache-2.0

import StatusWorkers

/// Why there was no answer.
struct HTTPFailure: Error, Equatable {
    /// One short phrase, in lower case and without a full stop.
    let reason: String
    /// Whether it is this host that lacks something, so that nothing is known of the server.
    var isLocal = false

    var outcome: HTTPOutcome { isLocal ? .notMade(reason: reason) : .unexpected(reason: reason) }
}
