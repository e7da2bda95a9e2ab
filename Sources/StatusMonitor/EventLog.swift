// SPDX-License-Identifier: Apache-2.0

public import StatusModel

public struct LogEntry: Equatable, Sendable {
    public var revision: Int
    /// The kind; `alive` is the daemon's own probe, which other readers do not get.
    public var kind: EventKind
    /// The state of its server at the time of the event.
    public var snapshot: ServerSnapshot?
    /// Whether its server was selected at the time of the event.
    public var isOfSelected: Bool
    /// The greatest severity of its server before and after the event; the greatest of all if that is unknown.
    var severity: Int8 = 4
    /// The client that caused it.
    var caller: Caller?

    public init(
        revision: Int, kind: EventKind, snapshot: ServerSnapshot? = nil, isOfSelected: Bool = false,
        caller: Caller? = nil
    ) {
        self.revision = revision
        self.kind = kind
        self.snapshot = snapshot
        self.isOfSelected = isOfSelected
        self.caller = caller
    }

    /// Whether readers of the selected server want it.
    var isForSelected: Bool { kind == .selected || isOfSelected }
}

/// The revisions of the last event for readers that want updates, and for readers that do not.
public struct Revisions: Equatable, Sendable {
    public var updates: Int
    public var changes: Int

    public init(updates: Int = 0, changes: Int = 0) {
        self.updates = updates
        self.changes = changes
    }

    mutating func note(_ revision: Int, _ kind: EventKind) {
        updates = revision
        if kind != .updated { changes = revision }
    }
}

/// The newest events of all servers, in one order.
///
/// A ring that keeps the newest entries, whatever their readers do. A reader may fall behind because it was not
/// scheduled for some milliseconds, so the ring keeps up to four times as many entries until that reader has caught up.
/// A slower reader misses events. Revisions count from 1 without a gap, so an entry is found by arithmetic.
struct EventLog {
    /// The number of entries to keep usually, and at most; both are powers of two.
    private let capacities: ClosedRange<Int>
    /// The number of entries to keep now, a power of two.
    private var capacity: Int
    private var slots: [LogEntry] = []
    /// The revision of the entry that was first in the first slot.
    private var first = 1
    /// The revision of the newest entry; 0 if there is none yet.
    private(set) var latest = 0
    /// The revision of the oldest entry; `latest + 1` if there is none.
    private(set) var oldest = 1

    init(capacities: ClosedRange<Int>) {
        precondition(
            capacities.lowerBound >= 8 && capacities.lowerBound.nonzeroBitCount == 1
                && capacities.upperBound.nonzeroBitCount == 1, "an event log's capacities are powers of two")
        self.capacities = capacities
        capacity = capacities.lowerBound
    }

    /// Whether the newest entry ends an eighth of a round.
    var endsEighth: Bool { latest & (capacities.lowerBound / 8 - 1) == 0 }

    /// Appends the entry of the next revision.
    mutating func append(_ entry: consuming LogEntry) {
        precondition(entry.revision == latest + 1, "revisions have no hole")
        latest += 1
        let index = index(of: latest)
        if index == slots.count {
            slots.append(entry)
        } else {
            slots[index] = entry
            oldest += 1
        }
    }

    /// Grows before the slowest reader misses an event, and shrinks when that reader has caught up.
    ///
    /// It must be called after each eighth of a round.
    ///
    /// - Parameter revision: the oldest entry that a reader still needs, if any.
    mutating func keep(from revision: Int?) {
        let needed = revision.map { latest - $0 + 1 } ?? 0
        if needed > capacity - capacities.lowerBound / 8, capacity < capacities.upperBound {
            resize(to: 2 * capacity)
        } else if needed <= capacity / 4, capacity > capacities.lowerBound {
            resize(to: capacity / 2)
        }
    }

    /// The entry of a revision from `oldest` to `latest`.
    subscript(revision: Int) -> LogEntry { slots[index(of: revision)] }

    /// Continues after the events of an earlier run.
    ///
    /// - Parameters:
    ///   - entries: the newest of these events, whose revisions have no gap; may be empty.
    ///   - revision: the revision of the last event.
    mutating func restore(_ entries: [LogEntry], upTo revision: Int) {
        latest = revision - entries.count
        oldest = latest + 1
        first = oldest
        for entry in entries { append(entry) }
    }

    private func index(of revision: Int) -> Int { (revision - first) & (capacity - 1) }

    private mutating func resize(to count: Int) {
        let kept = max(oldest, latest - count + 1)
        slots = (kept..<latest + 1).map { self[$0] }
        (oldest, first, capacity) = (kept, kept, count)
    }
}
