// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Adds a reader, which begins with a snapshot, or if possible, after `since`.
    mutating func watch(
        _ target: WatchTarget, updates: Bool, since: Cursor?, mayComeLater: Bool,
        wake: @escaping @Sendable (WatchUrgency) -> Void
    ) throws(LedgerError) -> Int {
        let isAbsent = if case .server(let name) = target { records[name] == nil } else { false }
        if case .server(let name) = target, isAbsent, !mayComeLater { throw .noSuchServer(name) }
        var position = WatchPosition(target: target, wantsUpdates: updates, wake: wake, revision: log.latest)
        // Whoever has seen a server that was removed since must learn that.
        if let since, !isAbsent {
            resume(&position, behind: since)
        } else {
            position.snapshot = target == .probe ? nil : .beginning
        }
        let id = watches.insert(position)
        if case .server(let name) = target { withReaders(of: name) { $0.append(id) } }
        return id
    }

    mutating func unwatch(_ id: Int) {
        if case .server(let name) = watches[id].target {
            withReaders(of: name) { readers in
                readers.removeAll { $0 == id }
                // An empty array would keep its memory for each server that once had many readers.
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
            case .entry(let revision): if let event = event(at: revision, for: id) { return event }
            }
        }
    }

    /// The next servers of a reader's snapshot of all servers; nil after the last one.
    mutating func nextServers(_ id: Int, limit: Int) -> [ServerState]? {
        guard let last = watches[id].readServers(in: log) else { return nil }
        let states = states(after: last, limit: limit)
        watches[id].snapshotProgress?.note(upTo: states.last?.name, at: log.latest)
        return states.isEmpty ? nil : states
    }

    /// The event of an entry for a reader; nil if the reader's snapshot contains it, or the reader must begin again.
    private mutating func event(at revision: Int, for id: Int) -> Event? {
        let cursor = Cursor(epoch: epoch, revision: revision)
        guard case .event(let kind) = log[revision].kind else { return Event(kind: .alive, cursor: cursor) }
        let snapshot = log[revision].snapshot
        if kind == .selected, let name = snapshot?.state.name {
            switch watches.newestEntry(id, of: name, after: revision, in: log) {
            case .none: break
            case .tooMany: return nil
            case .entry(let newer):
                // The snapshot does not have a removed server, and the next event says that another one is selected.
                if log[newer].kind == .event(.removed) { return nil }
                // Events never show an older state than the snapshot did.
                var state = log[newer].snapshot?.state
                state?.isSelected = true
                return Event(kind: kind, cursor: cursor, server: state)
            }
        }
        return Event(kind: kind, cursor: cursor, snapshot: snapshot, caller: log[revision].caller)
    }

    private func snapshot(for target: WatchTarget) -> Event {
        switch target {
        case .all, .probe: Event(kind: .snapshot, cursor: cursor)
        case .server(let name): Event(kind: .snapshot, cursor: cursor, server: records[name]?.state)
        case .selected: Event(kind: .snapshot, cursor: cursor, server: selected.flatMap { records[$0]?.state })
        }
    }

    /// Places a reader after a cursor; it begins with a gap if the log no longer has what came since.
    private func resume(_ position: inout WatchPosition, behind since: Cursor) {
        guard since.epoch == epoch, since.revision >= 0, since.revision <= log.latest else {
            position.isLost = true
            // Not a position of this epoch: a reader that comes back with it gets the gap again.
            position.revision = -1
            return
        }
        position.revision = since.revision
        guard since.revision < lastOfInterest(to: position) else { return }
        guard since.revision + 1 >= log.oldest || since.revision >= lastDropped(of: position) else {
            position.isLost = true
            return
        }
        if position.target == .selected, since.revision < selectionRevision {
            if selectionRevision < log.oldest { return resume(&position, behindDroppedMoves: since) }
            let before = max(since.revision + 1, log.oldest)..<max(selectionRevision, log.oldest)
            position.isSuperseded = before.contains { log[$0].kind != .event(.selected) && position.wants(log[$0]) }
            // If another move follows, readers have missed nothing.
            if !position.isSuperseded { position.revision = selectionRevision - 1 }
        }
        position.resume(in: log)
    }

    /// Places a reader of the selected server that missed only moves, the last of which the log has dropped.
    ///
    /// If something else came after them, it begins with a gap.
    private func resume(_ position: inout WatchPosition, behindDroppedMoves since: Cursor) {
        if position.countOfInterest(in: log, after: since.revision) > 0 {
            position.isLost = true
        } else {
            // A snapshot replaces the dropped move, unless another event comes before that is read.
            position.pending = 1
        }
    }

    /// The revision of the last event that a reader wants.
    private func lastOfInterest(to position: WatchPosition) -> Int {
        let last =
            switch position.target {
            case .all: followedOfAll
            case .probe: Revisions(updates: log.latest, changes: log.latest)
            case .selected: followed
            case .server(let name): records[name]?.followed ?? Revisions()
            }
        return position.wantsUpdates ? last.updates : last.changes
    }

    /// The revision of the last such event that the log has dropped.
    func lastDropped(of position: WatchPosition) -> Int {
        let last =
            switch position.target {
            case .all: log.dropped.ofAll
            case .probe: Revisions(updates: log.oldest - 1, changes: log.oldest - 1)
            case .selected: log.dropped.ofSelected
            case .server(let name): lastDropped(of: name)
            }
        return position.wantsUpdates ? last.updates : last.changes
    }

    private func lastDropped(of name: ServerName) -> Revisions {
        for revision in log.oldest..<log.latest + 1 {
            let entry = log[revision]
            if entry.snapshot?.state.name == name, entry.kind != .event(.selected) { return entry.previous }
        }
        return records[name]?.followed ?? Revisions()
    }
}
