// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts the tasks inside a section, and remembers the maximum.
final class Occupancy: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int {
        counts.withLock { $0.most }
    }

    func enter() {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
    }

    func leave() {
        counts.withLock { $0.now -= 1 }
    }
}
