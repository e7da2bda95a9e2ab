// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The newest of a sequence of changes.
struct NewestChanges {
    private let limit: Int
    private var kept: [Change] = []

    init(limit: Int) { self.limit = limit }

    mutating func append(_ change: Change) {
        kept.append(change)
        // Not with each one, because the rest moves.
        if kept.count / 2 >= limit { kept.removeFirst(kept.count - limit) }
    }

    /// The newest ones, in order.
    var changes: ArraySlice<Change> { kept.suffix(limit) }
}
