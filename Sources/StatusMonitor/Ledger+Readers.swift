// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Adds a reader.
    ///
    /// It begins with a snapshot, or behind `since` where that is possible.
    mutating func watch(
        _ target: WatchTarget, updates: Bool, since: Cursor?, mayComeLater: Bool, wake: @escaping @Sendable () -> Void
    ) throws(MonitorError) -> Int {
        if case .server(let name) = target, !mayComeLater, records[name] == nil { throw .noSuchServer(name) }
        var position = WatchPosition(target: target, wantsUpdates: updates, wake: wake, revision: log.latest)
        if let since {
            resume(&position, behind: since)
        } else {
            position.snapshot = target == .probe ? nil : .beginning
        }
        return watches.insert(position)
    }

    mutating func unwatch(_ id: Int) { watches.remove(id) }

    /// The next event for a reader, as things are now; nil where there is nothing to say.
    mutating func next(_ id: Int) -> Event? {
        guard var position = watches[id] else { return nil }
        defer { watches[id] = position }
        if let gap = takeGap(&position) { return gap }
        if position.snapshot != nil {
            position.snapshot = nil
            position.skipPending()
            position.revision = log.latest
            return snapshot(for: position.target)
        }
        guard position.pending > 0 else { return nil }
        var revision = max(position.revision + 1, log.oldest)
        while !position.wants(log[revision]) { revision += 1 }
        position.revision = revision
        position.pending -= 1
        return event(of: log[revision])
    }

    private func event(of entry: LogEntry) -> Event {
        let cursor = Cursor(epoch: epoch, revision: entry.revision)
        guard case .event(let kind) = entry.kind else { return Event(kind: .alive, cursor: cursor) }
        return Event(kind: kind, cursor: cursor, snapshot: entry.snapshot)
    }

    private func takeGap(_ position: inout WatchPosition) -> Event? {
        let isBroken =
            position.pending > 0
            && (position.isSuperseded || position.snapshot == .afterGap || isOverrun(position))
        guard position.isLost || isBroken else { return nil }
        let missed = position.isLost ? nil : position.pending
        position.skipPending()
        position.snapshot = .afterGap
        // The cursor stays where it was: who loses the connection before the snapshot has to be told of the gap again.
        return Event(kind: .gap, cursor: Cursor(epoch: epoch, revision: position.revision), missed: missed)
    }

    /// Whether the log no longer has all that is pending.
    private func isOverrun(_ position: WatchPosition) -> Bool {
        guard position.revision + 1 < log.oldest else { return false }
        return countOfInterest(to: position, after: log.oldest - 1) < position.pending
    }

    private func countOfInterest(to position: WatchPosition, after revision: Int) -> Int {
        revision < log.latest ? (revision + 1...log.latest).count { position.wants(log[$0]) } : 0
    }

    private func snapshot(for target: WatchTarget) -> Event {
        switch target {
        case .all: Event(kind: .snapshot, cursor: cursor, servers: states)
        case .server(let name): Event(kind: .snapshot, cursor: cursor, server: records[name]?.state)
        case .selected: Event(kind: .snapshot, cursor: cursor, server: selected.flatMap { records[$0]?.state })
        case .probe: Event(kind: .snapshot, cursor: cursor)
        }
    }

    /// Places a reader behind a cursor, or has it begin with a gap where what came since is not known any more.
    private func resume(_ position: inout WatchPosition, behind since: Cursor) {
        guard since.epoch == epoch, since.revision >= 0, since.revision <= log.latest else {
            position.isLost = true
            position.revision = 0
            return
        }
        position.revision = since.revision
        guard since.revision < lastRevisionOfInterest(to: position) else { return }
        guard since.revision + 1 >= log.oldest else {
            position.isLost = true
            return
        }
        position.pending = countOfInterest(to: position, after: since.revision)
        position.isSuperseded =
            position.target == .selected && since.revision < selectionRevision
            && (since.revision + 1..<selectionRevision).contains { position.wants(log[$0]) }
    }

    private func lastRevisionOfInterest(to position: WatchPosition) -> Int {
        switch position.target {
        case .all, .probe: log.latest
        case .selected: position.wantsUpdates ? followed.updates : followed.changes
        case .server(let name):
            position.wantsUpdates ? records[name]?.state.revision ?? 0 : records[name]?.changeRevision ?? 0
        }
    }
}
