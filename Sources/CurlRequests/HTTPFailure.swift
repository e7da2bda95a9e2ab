// SPDX-License-Identifier: Apache-2.0

import StatusWorkers

/// The reason for a missing response.
struct HTTPFailure: Error, Equatable {
    /// One short phrase in lower case without a full stop.
    let reason: String
    /// Whether this host lacks a resource, so that the state of the server is unknown.
    var isLocal = false

    var outcome: HTTPOutcome { isLocal ? .notMade(reason: reason) : .unexpected(reason: reason) }
}
