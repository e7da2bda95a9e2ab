// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The readers of the log by target, so that an event costs nothing for readers of other targets.
///
/// The readers of one server are listed in the ledger, with that server.
struct WatchTable {
    /// The readers by slot; `vacant` after a reader was removed.
    private var readers: [Reader] = []
    private var vacantPlaces: [Int] = []
    private var ofSelected: [Int] = []
    private var ofAll: [Int] = []
    private var ofProbe: [Int] = []

    private static var vacant: Reader { Reader(of: .probe, updates: false, wake: { _ in }, at: 0) }

    var count: Int { readers.count - vacantPlaces.count }

    /// Adds a reader and returns its slot, which it keeps until it is removed.
    mutating func insert(_ reader: Reader) -> Int {
        let place = vacantPlaces.popLast() ?? readers.count
        if place == readers.count { readers.append(reader) } else { readers[place] = reader }
        withReaders(of: reader.target) { $0.append(place) }
        return place
    }

    /// Removes a reader and releases its wake-up call.
    mutating func remove(_ place: Int) {
        withReaders(of: readers[place].target) { $0.removeAll { $0 == place } }
        readers[place] = Self.vacant
        vacantPlaces.append(place)
    }

    /// The reader in a slot, changed without a copy.
    subscript(place: Int) -> Reader {
        get { readers[place] }
        _modify { yield &readers[place] }
    }

    /// Notes a new entry for all readers except those of one server, and appends those that must be woken.
    mutating func note(_ entry: LogEntry, into wakes: inout [WatchWake]) {
        if entry.kind == .alive { return note(entry, for: ofProbe, into: &wakes) }
        note(entry, for: ofSelected, into: &wakes)
        note(entry, for: ofAll, into: &wakes)
    }

    /// Wake-up calls for all readers with something to read, because the log is about to overwrite it.
    func overdue() -> [WatchWake] {
        readers.lazy.filter { !$0.isCaughtUp }.map { WatchWake(reader: $0.wake, urgency: .overdue) }
    }

    /// The oldest entry that a reader still needs, from `oldest` on; nil if none does.
    func oldestUnread(from oldest: Int) -> Int? { readers.lazy.compactMap(\.nextUnread).filter { $0 >= oldest }.min() }

    /// Marks what readers of the selected server have not read yet as superseded.
    mutating func supersedeSelected() {
        for place in ofSelected { readers[place].supersede() }
    }

    /// Notes a new entry for some readers, and appends those of them that must be woken.
    mutating func note(_ entry: LogEntry, for places: [Int], into wakes: inout [WatchWake]) {
        for place in places where readers[place].note(entry) {
            // Most changes wake the recorder and one stream, so this allocates memory once.
            if wakes.isEmpty { wakes.reserveCapacity(2) }
            wakes.append(WatchWake(reader: readers[place].wake, urgency: .routine))
        }
    }

    private mutating func withReaders(of target: WatchTarget, _ body: (inout [Int]) -> Void) {
        switch target {
        case .selected: body(&ofSelected)
        case .all, .matching: body(&ofAll)
        case .probe: body(&ofProbe)
        case .server: break
        }
    }
}

struct WatchWake {
    let reader: @Sendable (WatchUrgency) -> Void
    let urgency: WatchUrgency
}
