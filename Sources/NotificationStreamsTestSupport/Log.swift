// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What happened, in order.
package final class Log<Entry: Sendable>: Sendable {
    private let kept = Mutex<[Entry]>([])

    package init() {}

    package var entries: [Entry] {
        kept.withLock { $0 }
    }

    package func append(_ entry: Entry) {
        kept.withLock { $0.append(entry) }
    }
}
