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
    /// The last event before this one for those who follow that server.
    var previous = Revisions()

    /// Whether followers of the selection want it.
    var isForSelected: Bool { kind == .event(.selected) || isOfSelected }
}

/// The revisions of the last event for readers who want updates, too, and for those who do not.
struct Revisions {
    var updates = 0
    var changes = 0

    /// Takes note of a later event.
    mutating func note(_ revision: Int, _ kind: EventKind) {
        updates = revision
        if kind != .updated { changes = revision }
    }
}

/// The last events, in one order for all servers.
///
/// A ring: it keeps the newest entries whatever their readers do. For a reader who has only fallen behind, because it got no processor for
/// some milliseconds, it keeps up to four times as many until the reader has caught up; one who is slower still is overrun. Revisions count from 1 without a hole, so an entry is found by arithmetic.
struct EventLog {
    /// How many entries it keeps at least, once there were so many, and at most: powers of two.
    private let capacities: ClosedRange<Int>
    /// The entries by the low bits of their revisions; as many as a power of two.
    private var slots: [LogEntry]

    /// The revision of the newest entry; 0 where there was none yet.
    private(set) var latest = 0
    /// The revision of the oldest entry that is still there; `latest + 1` where there is none.
    private(set) var oldest = 1

    /// The newest events that are not there any more: of all, and of the servers that were selected then, without the moves of the selection.
    private(set) var dropped = (ofAll: Revisions(), ofSelected: Revisions())

    private static let vacant = LogEntry(revision: 0, kind: .probe)

    init(capacities: ClosedRange<Int>) {
        precondition(
            capacities.lowerBound >= 8 && capacities.lowerBound.nonzeroBitCount == 1
                && capacities.upperBound.nonzeroBitCount == 1, "an event log's capacities are powers of two")
        self.capacities = capacities
        slots = Array(repeating: Self.vacant, count: 8)
    }

    /// Whether the newest entry is the last one of an eighth of a round.
    var endsEighth: Bool { latest & (capacities.lowerBound / 8 - 1) == 0 }

    /// Appends an entry, whose revision is the next one.
    mutating func append(_ entry: LogEntry) {
        precondition(entry.revision == latest + 1, "revisions have no hole")
        if latest - oldest + 1 == slots.count {
            if slots.count < capacities.lowerBound { resize(to: 2 * slots.count) } else { drop(upTo: oldest) }
        }
        latest = entry.revision
        slots[index(of: latest)] = entry
    }

    /// Makes room where the slowest reader would soon miss something, and gives it back when it has caught up; to be called after each
    /// eighth of a round.
    ///
    /// - Parameter revision: The oldest entry that a reader still needs; nil where none needs any.
    mutating func keep(from revision: Int?) {
        let needed = revision.map { latest - $0 + 1 } ?? 0
        if needed > slots.count - capacities.lowerBound / 8, slots.count < capacities.upperBound {
            resize(to: 2 * slots.count)
        } else if needed <= slots.count / 4, slots.count > capacities.lowerBound {
            resize(to: slots.count / 2)
        }
    }

    /// The entry of a revision from `oldest` to `latest`.
    subscript(revision: Int) -> LogEntry {
        slots[index(of: revision)]
    }

    private mutating func drop(upTo last: Int) {
        while oldest <= last {
            let index = index(of: oldest)
            if case .event(let kind) = slots[index].kind {
                dropped.ofAll.note(oldest, kind)
                // Moves of the selection that others follow are nothing that anybody missed.
                if kind != .selected, slots[index].isOfSelected { dropped.ofSelected.note(oldest, kind) }
            }
            oldest += 1
        }
    }

    private func index(of revision: Int) -> Int { revision & (slots.count &- 1) }

    private mutating func resize(to count: Int) {
        var resized = Array(repeating: Self.vacant, count: count)
        drop(upTo: latest - count)
        for revision in oldest..<latest + 1 { resized[revision & (count - 1)] = self[revision] }
        slots = resized
    }
}
