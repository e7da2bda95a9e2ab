// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// The events that a reader wants.
public enum WatchTarget: Hashable, Sendable {
    /// Those of the server that is selected at the time, and the selections themselves.
    case selected
    /// Those of one server.
    case server(ServerName)
    /// All.
    case all
    /// The daemon's own probes.
    case probe
}

/// How soon a reader should read.
public enum WatchUrgency: Sendable {
    /// At the end of the turn, together with what is posted until then.
    case routine
    /// Now, because the log is about to overwrite what the reader has not read yet.
    case overdue
}

/// A reader's place in the log, and its pending events.
struct WatchPosition {
    /// Why a snapshot comes next.
    enum SnapshotReason: Equatable {
        case beginning, afterGap
    }

    let target: WatchTarget
    /// Whether the reader wants statuses that were posted again unchanged.
    let wantsUpdates: Bool
    /// Called when there is something to read again.
    let wake: @Sendable (WatchUrgency) -> Void

    /// All wanted events up to this revision have been read.
    var revision: Int
    /// The number of wanted events since then.
    ///
    /// Those that the log still has will be read; if it does not have all, there is a gap.
    var pending = 0
    /// Whether something other than a move of the selection may be pending.
    var hasMoreThanMoves = false
    /// Whether the pending events must not be written, because the selection has moved on.
    var isSuperseded = false
    /// Whether the stream begins with a gap of unknown length, because its cursor is too old or of another epoch.
    var isLost = false
    var snapshot: SnapshotReason?
    /// The progress of a snapshot of all servers; nil when the reader is past it.
    var snapshotProgress: SnapshotProgress?
    /// Whether the servers of a snapshot may be read now.
    var isBehindSnapshot = false

    /// Whether there is nothing to read now.
    var isCaughtUp: Bool { pending == 0 && snapshot == nil && !isLost }

    /// The first revision that the reader needs; nil if it needs none, or gets a snapshot instead.
    var nextUnread: Int? {
        pending > 0 && snapshot == nil && !isSuperseded && !isLost ? revision + 1 : nil
    }

    /// Whether the reader wants an entry.
    func wants(_ entry: LogEntry) -> Bool {
        guard case .event(let kind) = entry.kind else { return target == .probe }
        if kind == .updated && !wantsUpdates { return false }
        switch target {
        case .all: return snapshotProgress == nil || snapshotProgress?.includes(entry, kind) == false
        case .probe: return false
        case .server(let name): return entry.snapshot?.state.name == name && kind != .selected
        case .selected: return entry.isForSelected
        }
    }

    /// Notes a new entry; returns whether the reader must be woken.
    mutating func note(_ entry: LogEntry) -> Bool {
        guard wants(entry) else { return false }
        let wasCaughtUp = isCaughtUp
        // No wanted event lies between: a quiet server never causes a false gap.
        if wasCaughtUp {
            revision = entry.revision - 1
            hasMoreThanMoves = false
        }
        if entry.kind != .event(.selected) { hasMoreThanMoves = true }
        pending += 1
        return wasCaughtUp
    }

    /// Notes that the selection moves on: pending events of the old server are never written.
    ///
    /// If another move follows, as after a move to no server, the reader has missed nothing.
    mutating func supersede() {
        guard pending > 0 else { return }
        if hasMoreThanMoves || snapshot != nil || isLost { isSuperseded = true } else { pending = 0 }
    }

    /// Forgets the pending events, because the reader gets a gap or a snapshot.
    mutating func skipPending() {
        pending = 0
        isSuperseded = false
        isLost = false
    }

    /// The next step of a reader.
    enum Step {
        case nothing
        /// It missed this many events; nil if the number is unknown.
        case gap(missed: Int?)
        case snapshot
        /// The entry of this revision.
        case entry(Int)
    }

    /// Moves on to the reader's next step.
    mutating func advance(in log: borrowing EventLog) -> Step {
        isBehindSnapshot = false
        if isCaughtUp {
            // Everything from now on is newer than the snapshot.
            if snapshotProgress?.isComplete == true { snapshotProgress = nil }
            return .nothing
        }
        // A snapshot contains everything before it.
        if snapshot == .beginning { return takeSnapshot(in: log) }
        // A snapshot replaces a move of the selection that the log has dropped.
        if target == .selected, !isLost, !isSuperseded, snapshot == nil, !hasMoreThanMoves, isOverrun(log) {
            return takeSnapshot(in: log)
        }
        if isLost || pending > 0 && (isSuperseded || snapshot == .afterGap || isOverrun(log)) {
            let missed = isLost ? nil : pending
            skipPending()
            snapshot = .afterGap
            // The cursor stays. A client that loses its connection before the snapshot must get the gap again.
            return .gap(missed: missed)
        }
        if snapshot != nil { return takeSnapshot(in: log) }
        // If all events since are wanted, the next entry is the next event.
        let mayBeOfOthers = pending < log.latest - revision
        revision = max(revision + 1, log.oldest)
        while mayBeOfOthers, !wants(log[revision]) { revision += 1 }
        pending -= 1
        return .entry(revision)
    }

    private mutating func takeSnapshot(in log: borrowing EventLog) -> Step {
        snapshot = nil
        skipPending()
        revision = log.latest
        snapshotProgress = nil
        isBehindSnapshot = target == .all
        return .snapshot
    }

    /// The server after which a snapshot continues (nil: from the first); nil if none is being read.
    mutating func readServers(in log: borrowing EventLog) -> ServerName?? {
        if let snapshotProgress { return snapshotProgress.isComplete ? nil : .some(snapshotProgress.last) }
        guard isBehindSnapshot else { return nil }
        isBehindSnapshot = false
        snapshotProgress = SnapshotProgress(from: revision)
        // Everything since the snapshot began will be in it.
        pending = countOfInterest(in: log, after: revision)
        return .some(nil)
    }

    /// Continues after ``revision``.
    mutating func resume(in log: borrowing EventLog) {
        pending = countOfInterest(in: log, after: revision)
        let unread = max(revision + 1, log.oldest)..<log.latest + 1
        hasMoreThanMoves = unread.contains { log[$0].kind != .event(.selected) && wants(log[$0]) }
    }

    /// Whether the log no longer has all pending events.
    private func isOverrun(_ log: borrowing EventLog) -> Bool {
        guard revision + 1 < log.oldest else { return false }
        return countOfInterest(in: log, after: log.oldest - 1) < pending
    }

    /// The number of entries after `revision` that the log has and the reader wants.
    func countOfInterest(in log: borrowing EventLog, after revision: Int) -> Int {
        let first = max(revision + 1, log.oldest)
        guard first <= log.latest else { return 0 }
        var count = 0
        for later in first...log.latest where wants(log[later]) { count += 1 }
        return count
    }
}
