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
        let (states, end) = states(after: last, limit: limit, in: watches[id].target.scope)
        watches[id].noteServers(upTo: end, in: log)
        return end == nil && states.isEmpty ? nil : states
    }

    /// The number of servers that one call looks at, however few of them are wanted.
    private static let mostExamined = 512

    /// At most `limit` of the wanted servers after `name`, sorted by name, and the server to continue after; nil after
    /// the last one.
    ///
    /// There may be none of them although others follow.
    func states(
        after name: ServerName?, limit: Int, in scope: ServerScope
    ) -> (states: [ServerState], end: ServerName?) {
        if scope.isEmpty {
            let states = states(after: name, limit: limit)
            return (states, states.last?.name)
        }
        var (states, last, examined) = ([ServerState](), ServerName?.none, 0)
        for record in records.records(after: name, limit: Self.mostExamined) {
            (last, examined) = (record.state.name, examined + 1)
            if scope.includes(record.state) { states.append(record.state) }
            if states.count == limit { break }
        }
        return (states, last)
    }

    /// The revision of the last event that readers of some of all servers may want, with updates or without.
    ///
    /// With a level, it may be that of another host's server; with a host, that of a server with another level.
    func lastWanted(_ scope: ServerScope, updates: Bool) -> Int {
        func revision(_ revisions: Revisions) -> Int { updates ? revisions.updates : revisions.changes }
        var last = removalRevision
        if scope.host == nil {
            last = max(last, revision(followedOfAll))
        } else {
            for name in records.names where scope.includes(name) {
                last = max(last, records[name].map { revision($0.followed) } ?? 0)
            }
        }
        if let level = scope.level, level != .ok {
            last = min(last, followedOfSeverities[level.severity...].map { revision($0) }.max() ?? last)
        }
        return max(last, selectionRevision)
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
        case .all, .matching, .probe: Event(kind: .snapshot, cursor: cursor)
        case .server(let name): Event(kind: .snapshot, cursor: cursor, server: records[name]?.state)
        case .selected: Event(kind: .snapshot, cursor: cursor, server: selected.flatMap { records[$0]?.state })
        }
    }
}
