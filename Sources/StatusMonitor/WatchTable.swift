// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The readers of the log by target, so that an event costs other readers nothing.
///
/// The ledger lists the readers of one server with that server.
struct WatchTable {
    /// The readers by place; `vacant` after a reader was removed.
    private var positions: [WatchPosition] = []
    private var vacantPlaces: [Int] = []
    private var ofSelected: [Int] = []
    private var ofAll: [Int] = []
    private var ofProbe: [Int] = []

    private static let vacant = WatchPosition(target: .probe, wantsUpdates: false, wake: { _ in }, revision: 0)

    /// The number of readers.
    var count: Int { positions.count - vacantPlaces.count }

    /// Adds a reader and returns its place, which it keeps until it is removed.
    mutating func insert(_ position: WatchPosition) -> Int {
        let place = vacantPlaces.popLast() ?? positions.count
        if place == positions.count { positions.append(position) } else { positions[place] = position }
        withReaders(of: position.target) { $0.append(place) }
        return place
    }

    /// Removes a reader and releases its wake-up call.
    mutating func remove(_ place: Int) {
        withReaders(of: positions[place].target) { $0.removeAll { $0 == place } }
        positions[place] = Self.vacant
        vacantPlaces.append(place)
    }

    /// The reader at a place, changed without a copy.
    subscript(place: Int) -> WatchPosition {
        get { positions[place] }
        _modify { yield &positions[place] }
    }

    /// The newest entry of a server in a reader's snapshot, if it is newer than an entry that follows the snapshot.
    ///
    /// If too many servers were selected while the snapshot was written, the reader gets a gap and another snapshot.
    mutating func newestEntry(
        _ place: Int, of name: ServerName, after revision: Int, in log: borrowing EventLog
    ) -> SnapshotProgress.Newest {
        guard let newest = positions[place].snapshotProgress?.newestEntry(of: name, after: revision, in: log)
        else { return .none }
        if case .tooMany = newest {
            positions[place].isLost = true
            // This event was not delivered. A client that resumes at the gap's cursor must get another gap.
            positions[place].revision = revision - 1
        }
        return newest
    }

    /// Notes a new entry for all readers except those of one server, and appends those that must be woken.
    mutating func note(_ entry: LogEntry, into wakes: inout [WatchWake]) {
        if entry.kind == .probe { return note(entry, for: ofProbe, into: &wakes) }
        note(entry, for: ofSelected, into: &wakes)
        note(entry, for: ofAll, into: &wakes)
    }

    /// Wake-up calls for all readers with something to read, because the log is about to overwrite it.
    func overdue() -> [WatchWake] {
        positions.lazy.filter { !$0.isCaughtUp }.map { WatchWake(reader: $0.wake, urgency: .overdue) }
    }

    /// The oldest entry that a reader still needs, from `oldest` on; nil if none does.
    func oldestUnread(from oldest: Int) -> Int? {
        positions.lazy.compactMap(\.nextUnread).filter { $0 >= oldest }.min()
    }

    /// Marks what readers of the selected server have not read yet as superseded.
    mutating func supersedeSelected() {
        for place in ofSelected { positions[place].supersede() }
    }

    /// Notes a new entry for some readers, and appends those of them that must be woken.
    mutating func note(_ entry: LogEntry, for readers: [Int], into wakes: inout [WatchWake]) {
        for place in readers where positions[place].note(entry) {
            wakes.append(WatchWake(reader: positions[place].wake, urgency: .routine))
        }
    }

    private mutating func withReaders(of target: WatchTarget, _ body: (inout [Int]) -> Void) {
        switch target {
        case .selected: body(&ofSelected)
        case .all: body(&ofAll)
        case .probe: body(&ofProbe)
        case .server: break
        }
    }
}

/// A wake-up call to a reader.
struct WatchWake {
    let reader: @Sendable (WatchUrgency) -> Void
    let urgency: WatchUrgency

    func callAsFunction() { reader(urgency) }
}
