// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A reader of the event log: the events that it wants, its position, and its next step.
///
/// This file alone decides when a reader gets a gap, after which a snapshot follows. There are three reasons:
/// - The log has dropped events that the reader had not read: the reader is too slow, or its cursor is too old.
/// - The selection moved before the reader got all events of the server that was selected until then.
/// - The reader's cursor is from another epoch.
struct Reader {
    /// Events that the reader has not read yet, all of them after ``Reader/revision``.
    private struct Unread {
        var count = 0
        /// Whether all of them are moves of the selection.
        var areMoves = true

        mutating func add(_ entry: LogEntry) {
            count += 1
            if entry.kind != .selected { areMoves = false }
        }
    }

    private enum Next {
        /// Nothing: the reader has read every event that it wants.
        case nothing
        /// Events, or a gap if the log drops one of them first.
        case events(Unread)
        /// Events after a snapshot of all servers, which contains some of the events in the log.
        case eventsAfter(SnapshotProgress, Unread)
        /// A gap of so many events: the selection has moved, so the old server's events must not be written.
        case superseded(missed: Int)
        /// A gap of unknown length.
        case lost
        /// A snapshot, which contains everything before it.
        case snapshot
        /// The snapshot after a gap; if events were missed since, first another gap of so many.
        case snapshotAfterGap(missed: Int)
        /// The remaining servers of a snapshot (nil: all servers), then the later events that are not in it.
        case servers(SnapshotProgress?, Unread)
    }

    /// A step of a reader.
    enum Step {
        case nothing
        /// The reader missed so many events; nil if the number is unknown.
        case gap(missed: Int?)
        case snapshot
        /// The entry of this revision, with the state of a newer entry if the reader has seen that state in a snapshot.
        case entry(Int, newer: Int? = nil)
    }

    let target: WatchTarget
    /// Whether the reader wants statuses that were posted again unchanged.
    let wantsUpdates: Bool
    /// Called when there is something to read again.
    let wake: @Sendable (WatchUrgency) -> Void
    /// All wanted events up to this revision have been read; the position of a gap.
    private(set) var revision: Int
    private var next: Next

    /// A reader that begins with a snapshot.
    init(of target: WatchTarget, updates: Bool, wake: @escaping @Sendable (WatchUrgency) -> Void, at revision: Int) {
        self.target = target
        wantsUpdates = updates
        self.wake = wake
        self.revision = revision
        next = target == .probe ? .nothing : .snapshot
    }

    // MARK: The state of reading

    /// Whether there is nothing to read now.
    var isCaughtUp: Bool {
        switch next {
        case .nothing: true
        case .servers(_, let unread): unread.count == 0
        case .events, .eventsAfter, .superseded, .lost, .snapshot, .snapshotAfterGap: false
        }
    }

    /// The first revision that the log should keep for the reader; nil if it needs none.
    var nextUnread: Int? {
        switch next {
        case .events(let unread), .eventsAfter(_, let unread), .servers(_, let unread):
            unread.count > 0 ? revision + 1 : nil
        case .nothing, .superseded, .lost, .snapshot, .snapshotAfterGap: nil
        }
    }

    // MARK: Changes

    /// Notes a new entry; returns whether the reader must be woken.
    mutating func note(_ entry: LogEntry) -> Bool {
        guard wants(entry) else { return false }
        let wasCaughtUp = isCaughtUp
        // There is no wanted event in between, so a quiet server never causes a false gap.
        if wasCaughtUp { revision = entry.revision - 1 }
        switch next {
        case .nothing:
            var unread = Unread()
            unread.add(entry)
            next = .events(unread)
        case .events(var unread):
            unread.add(entry)
            next = .events(unread)
        case .eventsAfter(let snapshot, var unread):
            unread.add(entry)
            next = .eventsAfter(snapshot, unread)
        case .servers(let progress, var unread):
            unread.add(entry)
            next = .servers(progress, unread)
        case .superseded(let missed): next = .superseded(missed: missed + 1)
        case .snapshotAfterGap(let missed): next = .snapshotAfterGap(missed: missed + 1)
        case .lost, .snapshot: break
        }
        return wasCaughtUp
    }

    /// Notes that the selection moves.
    ///
    /// If only moves are unread, the reader misses nothing, because another move follows.
    mutating func supersede() {
        if case .events(let unread) = next { next = unread.areMoves ? .nothing : .superseded(missed: unread.count) }
    }

    /// Takes the reader's next step.
    mutating func advance(in log: borrowing EventLog) -> Step {
        switch next {
        case .nothing: return .nothing
        case .snapshot, .snapshotAfterGap(missed: 0): return takeSnapshot(in: log)
        case .superseded(let missed), .snapshotAfterGap(let missed): return takeGap(of: missed)
        case .lost: return takeGap(of: nil)
        case .servers(let progress, let unread):
            keepReading(unread, after: progress)
            return advance(in: log)
        case .eventsAfter(let snapshot, let unread): return takeNext(of: unread, after: snapshot, in: log)
        case .events(let unread): return takeNext(of: unread, after: nil, in: log)
        }
    }

    private mutating func takeGap(of missed: Int?) -> Step {
        next = .snapshotAfterGap(missed: 0)
        // The revision does not change: a client that disconnects before the snapshot must get the gap again.
        return .gap(missed: missed)
    }

    private mutating func takeSnapshot(in log: borrowing EventLog) -> Step {
        revision = log.latest
        next = target.isOfMany ? .servers(nil, Unread()) : .nothing
        return .snapshot
    }

    /// Takes the next of the unread events, or a gap if the log no longer has all of them.
    private mutating func takeNext(
        of unread: Unread, after snapshot: SnapshotProgress?, in log: borrowing EventLog
    ) -> Step {
        guard !isOverrun(unread, by: log) else {
            // Only moves are unread: a snapshot shows the server that is selected now.
            return target == .selected && unread.areMoves ? takeSnapshot(in: log) : takeGap(of: unread.count)
        }
        // If all later entries are wanted, the next entry is the next event.
        let mayBeOfOthers = unread.count < log.latest - revision
        revision = max(revision + 1, log.oldest)
        while mayBeOfOthers, !wants(log[revision]) { revision += 1 }
        var rest = unread
        rest.count -= 1
        keepReading(rest, after: snapshot)
        guard let snapshot, log[revision].kind == .selected, let name = log[revision].snapshot?.state.name else {
            return .entry(revision)
        }
        return .entry(revision, newer: snapshot.newestEntry(of: name, after: revision, in: log))
    }

    /// Continues with unread events; some events in the log may be part of a snapshot.
    private mutating func keepReading(_ unread: Unread, after snapshot: SnapshotProgress?) {
        guard unread.count > 0 else { return next = .nothing }
        next = if let snapshot { .eventsAfter(snapshot, unread) } else { .events(unread) }
    }

    // MARK: The servers of a snapshot

    /// Begins or continues to read the servers of a snapshot.
    ///
    /// Returns the server to continue after (nil: begin with the first), or nil if no snapshot is being read.
    mutating func readServers(in log: borrowing EventLog) -> ServerName?? {
        guard case .servers(let progress, _) = next else { return nil }
        if let progress { return .some(progress.last) }
        next = .servers(SnapshotProgress(), Unread())
        // Changes of servers since the snapshot began will be in it, so they are not unread.
        next = .servers(SnapshotProgress(), unread(in: log, after: revision))
        return .some(nil)
    }

    /// Notes that the servers of a snapshot were read up to `last`, or all if nil.
    mutating func noteServers(upTo last: ServerName?, in log: borrowing EventLog) {
        guard case .servers(var progress?, let unread) = next else { return }
        progress.note(upTo: last, at: log.latest)
        if progress.isComplete { keepReading(unread, after: progress) } else { next = .servers(progress, unread) }
    }

    // MARK: Wanted events

    private var snapshot: SnapshotProgress? {
        switch next {
        case .servers(let progress, _): progress
        case .eventsAfter(let snapshot, _): snapshot
        case .nothing, .events, .superseded, .lost, .snapshot, .snapshotAfterGap: nil
        }
    }

    private func wants(_ entry: LogEntry) -> Bool {
        if entry.kind == .alive { return target == .probe }
        if entry.kind == .updated && !wantsUpdates { return false }
        switch target {
        case .all: return snapshot?.includes(entry) != true
        case .matching(let scope):
            guard entry.kind == .selected || entry.snapshot.map({ scope.includes($0.state.name) }) ?? false,
                entry.kind == .selected || scope.includes(severity: Int(entry.severity))
            else { return false }
            return snapshot?.includes(entry) != true
        case .probe: return false
        case .server(let name): return entry.snapshot?.state.name == name && entry.kind != .selected
        case .selected: return entry.isForSelected
        }
    }

    /// Whether the log no longer has all unread events.
    private func isOverrun(_ unread: Unread, by log: borrowing EventLog) -> Bool {
        revision + 1 < log.oldest && self.unread(in: log, after: log.oldest - 1).count < unread.count
    }

    /// The wanted entries after `revision` that the log has.
    private func unread(in log: borrowing EventLog, after revision: Int) -> Unread {
        let first = max(revision + 1, log.oldest)
        var unread = Unread()
        guard first <= log.latest else { return unread }
        for later in first...log.latest where wants(log[later]) { unread.add(log[later]) }
        return unread
    }
}

// MARK: - Resuming

extension Reader {
    /// Places a new reader after a cursor, or before a gap if the log no longer has all later events.
    mutating func resume(behind since: Cursor, in ledger: borrowing Ledger) {
        guard since.epoch == ledger.epoch, since.revision >= 0, since.revision <= ledger.log.latest else {
            // This is not a position of this epoch, so a client that resumes with it gets the gap again.
            revision = -1
            return next = .lost
        }
        revision = since.revision
        next = .nothing
        guard since.revision < lastWanted(in: ledger) else { return }
        guard since.revision + 1 >= ledger.log.oldest else { return next = .lost }
        let move = ledger.selectionRevision
        if target == .selected, revision < move {
            let isSuperseded = (revision + 1..<move).contains { revision in
                ledger.log[revision].kind != .selected && wants(ledger.log[revision])
            }
            // If only moves came before the last one, the reader has missed nothing.
            if !isSuperseded { revision = move - 1 }
            let unread = unread(in: ledger.log, after: revision)
            next = isSuperseded ? .superseded(missed: unread.count) : .events(unread)
        } else {
            // Readers of some of all servers may want none of them.
            keepReading(unread(in: ledger.log, after: revision), after: nil)
        }
    }

    /// The revision of the last event that the reader wants.
    private func lastWanted(in ledger: borrowing Ledger) -> Int {
        if case .matching(let scope) = target { return ledger.lastWanted(scope, updates: wantsUpdates) }
        let last =
            switch target {
            case .all, .matching: ledger.followedOfAll
            case .probe: Revisions(updates: ledger.log.latest, changes: ledger.log.latest)
            case .selected: ledger.followed
            case .server(let name): ledger.records[name]?.followed ?? Revisions()
            }
        return wantsUpdates ? last.updates : last.changes
    }
}
