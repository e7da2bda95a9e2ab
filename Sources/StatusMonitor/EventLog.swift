// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// One event as the log keeps it.
struct LogEntry {
    /// What an entry is: an event for readers, or the daemon's own probe on its way through.
    enum Kind: Equatable {
        case event(EventKind)
        case probe
    }

    var revision: Int
    var kind: Kind
    /// The server it is about, as it was then.
    var snapshot: ServerSnapshot?
    /// Whether that server was the selected one then.
    var isOfSelected = false
}

/// The last events, in one order for all servers.
///
/// A ring: it keeps the newest `capacity` entries whatever their readers do, so that a reader who is too slow costs nobody
/// anything. Revisions count from 1 without a hole, so an entry is found by arithmetic.
struct EventLog {
    private var entries: [LogEntry] = []
    /// The number of entries it keeps, a power of two of at least 8.
    private let capacity: Int

    /// The revision of the newest entry; 0 where there was none yet.
    private(set) var latest = 0

    init(capacity: Int) {
        precondition(capacity >= 8 && capacity.nonzeroBitCount == 1, "an event log's capacity is a power of two")
        self.capacity = capacity
    }

    /// The revision of the oldest entry that is still there; `latest + 1` where there is none.
    var oldest: Int { latest - entries.count + 1 }

    /// Whether the newest entry is the last one of an eighth of the ring.
    var endsEighth: Bool { latest & (capacity / 8 - 1) == 0 }

    /// Appends an entry, whose revision is the next one.
    mutating func append(_ entry: LogEntry) {
        precondition(entry.revision == latest + 1, "revisions have no hole")
        latest = entry.revision
        if entries.count < capacity {
            entries.append(entry)
        } else {
            entries[index(of: latest)] = entry
        }
    }

    /// The entry of a revision from `oldest` to `latest`.
    subscript(revision: Int) -> LogEntry {
        _read { yield entries[index(of: revision)] }
    }

    private func index(of revision: Int) -> Int { (revision &- 1) & (capacity &- 1) }
}
