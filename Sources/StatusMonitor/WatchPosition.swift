// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// Which events a reader wants.
public enum WatchTarget: Hashable, Sendable {
    /// Those of the selected server, whichever that is from moment to moment, and the selections themselves.
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

/// Where a reader stands in the log, and what it still has to be told: all that a reader costs.
struct WatchPosition {
    /// Why a snapshot comes next.
    enum SnapshotReason: Equatable {
        case beginning, afterGap
    }

    let target: WatchTarget
    /// Whether statuses posted again unchanged are wanted, too.
    let wantsUpdates: Bool
    /// Called when there is something to read after there was nothing.
    let wake: @Sendable (WatchUrgency) -> Void

    /// Everything of interest up to this revision has been read.
    var revision: Int
    /// How many events of interest came since.
    ///
    /// Those that are still in the log will be read; where some are not, there is a gap.
    var pending = 0
    /// Whether something else than a move of the selection may be pending.
    var hasMoreThanMoves = false
    /// Whether what is pending must not be written any more, because the selection has moved on.
    var isSuperseded = false
    /// Whether the stream begins with a gap of unknown length, its cursor being too old or of another life.
    var isLost = false
    var snapshot: SnapshotReason?
    /// How far a snapshot of all servers has been read; nil if all that it says is behind the reader.
    var snapshotProgress: SnapshotProgress?
    /// Whether the servers of a snapshot may be read now.
    var isBehindSnapshot = false

    /// Whether there is nothing to read now.
    var isCaughtUp: Bool { pending == 0 && snapshot == nil && !isLost }

    /// The revision from which on the reader needs the log; nil where it needs nothing of it, or gets a snapshot instead.
    var nextUnread: Int? {
        pending > 0 && snapshot == nil && !isSuperseded && !isLost ? revision + 1 : nil
    }

    /// Whether the reader wants to know of an entry.
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

    /// Takes note of a new entry; returns whether the reader has to be woken.
    mutating func note(_ entry: LogEntry) -> Bool {
        guard wants(entry) else { return false }
        let wasCaughtUp = isCaughtUp
        // Nothing of interest lies between, or it would have been noted: a quiet server never causes a false gap.
        if wasCaughtUp {
            revision = entry.revision - 1
            hasMoreThanMoves = false
        }
        if entry.kind != .event(.selected) { hasMoreThanMoves = true }
        pending += 1
        return wasCaughtUp
    }

    /// Takes note that the selection moves on: what is pending of the old server is never written.
    ///
    /// A move that another one follows is nothing that anybody missed, such as that to no server between two others.
    mutating func supersede() {
        guard pending > 0 else { return }
        if hasMoreThanMoves || snapshot != nil || isLost { isSuperseded = true } else { pending = 0 }
    }

    /// Forgets what is pending: the reader is told how much it missed, or is given all there is to know.
    mutating func skipPending() {
        pending = 0
        isSuperseded = false
        isLost = false
    }

    /// What a reader should read next.
    enum Step {
        case nothing
        /// It missed this many events; nil if the number is unknown.
        case gap(missed: Int?)
        case snapshot
        /// The entry of this revision.
        case entry(Int)
    }

    /// Moves on to what the reader should read next.
    mutating func advance(in log: borrowing EventLog) -> Step {
        isBehindSnapshot = false
        if isCaughtUp {
            // Whatever comes now is newer than all of the snapshot.
            if snapshotProgress?.isComplete == true { snapshotProgress = nil }
            return .nothing
        }
        // What came before the first line is in it.
        if snapshot == .beginning { return takeSnapshot(in: log) }
        // A move of the selection that is not there any more is told by a snapshot.
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
        // Where all that came since is of interest, the next entry is.
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

    /// Behind which server a snapshot goes on (nil: from the first); nil if none is being read.
    mutating func readServers(in log: borrowing EventLog) -> ServerName?? {
        if let snapshotProgress { return snapshotProgress.isComplete ? nil : .some(snapshotProgress.last) }
        guard isBehindSnapshot else { return nil }
        isBehindSnapshot = false
        snapshotProgress = SnapshotProgress(from: revision)
        // What has happened since the snapshot began will be in it.
        pending = countOfInterest(in: log, after: revision)
        return .some(nil)
    }

    /// Goes on behind ``revision``.
    mutating func resume(in log: borrowing EventLog) {
        pending = countOfInterest(in: log, after: revision)
        let unread = max(revision + 1, log.oldest)..<log.latest + 1
        hasMoreThanMoves = unread.contains { log[$0].kind != .event(.selected) && wants(log[$0]) }
    }

    /// Whether the log no longer has all that is pending.
    private func isOverrun(_ log: borrowing EventLog) -> Bool {
        guard revision + 1 < log.oldest else { return false }
        return countOfInterest(in: log, after: log.oldest - 1) < pending
    }

    /// The number of entries behind `revision` that are still there and that the reader wants.
    func countOfInterest(in log: borrowing EventLog, after revision: Int) -> Int {
        let first = max(revision + 1, log.oldest)
        guard first <= log.latest else { return 0 }
        var count = 0
        for later in first...log.latest where wants(log[later]) { count += 1 }
        return count
    }
}
