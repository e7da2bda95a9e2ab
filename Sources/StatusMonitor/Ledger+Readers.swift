// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Adds a reader, which begins after `since` if possible, otherwise with a snapshot.
    mutating func watch(
        _ target: WatchTarget, updates: Bool, since: Cursor?, mayComeLater: Bool,
        wake: @escaping @Sendable (WatchUrgency) -> Void
    ) throws(LedgerError) -> Int {
        let isAbsent = if case .server(let name) = target { records[name] == nil } else { false }
        if case .server(let name) = target, isAbsent, !mayComeLater { throw .noSuchServer(name) }
        var reader = Reader(of: target, updates: updates, wake: wake, at: log.latest)
        // If the server is gone, a snapshot without it tells a client that has seen it.
        if let since, !isAbsent { reader.resume(behind: since, in: self) }
        let id = watches.insert(reader)
        if case .server(let name) = target { withReaders(of: name) { $0.append(id) } }
        return id
    }

    mutating func unwatch(_ id: Int) {
        if case .server(let name) = watches[id].target {
            withReaders(of: name) { readers in
                readers.removeAll { $0 == id }
                // This releases the memory of a server that once had many readers.
                if readers.isEmpty { readers = [] }
            }
        }
        watches.remove(id)
    }

    /// Changes the list of readers of one server.
    private mutating func withReaders(of name: ServerName, _ body: (inout [Int]) -> Void) {
        if let place = records.place(of: name) { return body(&records[place].readers) }
        body(&absentReaders[name, default: []])
        if absentReaders[name]?.isEmpty == true { absentReaders[name] = nil }
    }

    /// The next event for a reader; nil if there is nothing to read.
    mutating func next(_ id: Int) -> Event? {
        while true {
            switch watches[id].advance(in: log) {
            case .nothing: return nil
            case .gap(let missed):
                return Event(kind: .gap, cursor: Cursor(epoch: epoch, revision: watches[id].revision), missed: missed)
            case .snapshot: return snapshot(for: watches[id].target)
            case .entry(let revision, let newer): if let event = event(at: revision, newer: newer) { return event }
            }
        }
    }

    /// The next servers of a reader's snapshot of all servers; nil after the last one.
    mutating func nextServers(_ id: Int, limit: Int) -> [ServerState]? {
        guard let last = watches[id].readServers(in: log) else { return nil }
        let states = states(after: last, limit: limit)
        watches[id].noteServers(upTo: states.last?.name, in: log)
        return states.isEmpty ? nil : states
    }

    /// The event of an entry, with the state of a newer entry if the reader has seen that; nil if it is not needed.
    private func event(at revision: Int, newer: Int?) -> Event? {
        let cursor = Cursor(epoch: epoch, revision: revision)
        let entry = log[revision]
        guard let newer else {
            return Event(kind: entry.kind, cursor: cursor, snapshot: entry.snapshot, caller: entry.caller)
        }
        // A removed server is not in the snapshot, and the next event moves the selection away from it.
        if log[newer].kind == .removed { return nil }
        // Events never show an older state than the snapshot did.
        var state = log[newer].snapshot?.state
        state?.isSelected = true
        return Event(kind: entry.kind, cursor: cursor, server: state)
    }

    private func snapshot(for target: WatchTarget) -> Event {
        switch target {
        case .all, .probe: Event(kind: .snapshot, cursor: cursor)
        case .server(let name): Event(kind: .snapshot, cursor: cursor, server: records[name]?.state)
        case .selected: Event(kind: .snapshot, cursor: cursor, server: selected.flatMap { records[$0]?.state })
        }
    }
}
