// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The readers of the log, found by what they want, so that an event costs only its own readers anything.
struct WatchTable {
    private var positions: [Int: WatchPosition] = [:]
    private var byTarget: [WatchTarget: [Int]] = [:]
    private var lastID = 0

    var count: Int { positions.count }

    mutating func insert(_ position: WatchPosition) -> Int {
        lastID += 1
        positions[lastID] = position
        byTarget[position.target, default: []].append(lastID)
        return lastID
    }

    mutating func remove(_ id: Int) {
        guard let position = positions.removeValue(forKey: id) else { return }
        byTarget[position.target]?.removeAll { $0 == id }
        if byTarget[position.target]?.isEmpty == true { byTarget[position.target] = nil }
    }

    subscript(id: Int) -> WatchPosition? {
        get { positions[id] }
        set { positions[id] = newValue }
    }

    /// Notes a new entry for all who want it; returns whom to wake.
    mutating func note(_ entry: LogEntry) -> [@Sendable () -> Void] {
        var wakes: [@Sendable () -> Void] = []
        switch entry.kind {
        case .probe: note(entry, for: .probe, into: &wakes)
        case .event:
            note(entry, for: .selected, into: &wakes)
            note(entry, for: .all, into: &wakes)
            if let name = entry.snapshot?.state.name { note(entry, for: .server(name), into: &wakes) }
        }
        return wakes
    }

    /// Says that what the followers of the selection have not read yet is of a server that is selected no more.
    mutating func supersedeSelected() {
        for id in byTarget[.selected] ?? [] where positions[id]?.pending ?? 0 > 0 {
            positions[id]?.isSuperseded = true
        }
    }

    private mutating func note(
        _ entry: LogEntry, for target: WatchTarget, into wakes: inout [@Sendable () -> Void]
    ) {
        guard let ids = byTarget[target] else { return }
        for id in ids {
            guard let position = positions.index(forKey: id), positions.values[position].wants(entry) else { continue }
            if positions.values[position].note(entry.revision) { wakes.append(positions.values[position].wake) }
        }
    }
}
