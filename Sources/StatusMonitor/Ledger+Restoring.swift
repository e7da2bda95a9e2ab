// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Takes over what an earlier run has left, without an event: for readers, the log goes on.
    mutating func restore(_ memory: consuming LedgerMemory, at now: Moment) {
        epoch = memory.log.epoch
        var position = memory.log
        if let events = memory.past, events.epoch == epoch, events.latest >= position.revision {
            past = (events, position.revision)
            position.revision = events.latest
            // What the log cannot give any more, it has dropped.
            let latest = Revisions(updates: events.latest, changes: events.latest)
            (position.droppedOfAll, position.droppedOfSelected) = (latest, latest)
            (position.followedOfAll, position.followed) = (latest, latest)
        }
        log.restore(memory.entries, upTo: position)
        restorePositions(position)
        restoreLost(memory.log.lost, now: past.flatMap { $0.events.lost(after: $0.saved) })
        let shift = memory.shift(to: now)
        for server in memory.servers where records.place(of: server.state.name) == nil {
            var record = Record(server, isSelected: server.state.name == memory.log.selected, shift: shift)
            let hasGrace = record.grantGrace(at: now)
            let place = records.insert(record)
            // Otherwise the next start would take its times for those of this boot, or give it the grace again.
            if hasGrace || !memory.isOfThisBoot { _ = noteUnsaved(at: place) }
        }
        notePastEvents()
        // Cursors of this run come after this entry, so they are distinct from those of the run that was killed.
        if let past {
            _ = appendProbe()
            tally?.markStart(at: log.latest, after: past.saved)
        }
        if let name = memory.log.selected, records[name] != nil { restoreSelection(name) }
    }
}

extension Ledger {
    /// Notes the last events of servers that had some which were not saved.
    private mutating func notePastEvents() {
        guard let (events, saved) = past, events.latest > saved else { return }
        var last: [UInt64: Revisions] = [:]
        for (offset, entry) in events.entries.enumerated() where events.oldest + offset > saved {
            if let kind = entry.event { last[entry.server, default: Revisions()].note(events.oldest + offset, kind) }
        }
        for place in records.indices {
            guard let revisions = last[records[place].server.number] else { continue }
            records[place].followed.updates = revisions.updates
            if revisions.changes > 0 { records[place].followed.changes = revisions.changes }
            // The next start must know it, too, and has another tally.
            _ = noteUnsaved(at: place)
        }
    }

    /// Whether a reader with a cursor of a run that was killed has missed nothing of it.
    ///
    /// Otherwise it begins with a gap of known length. That may be zero: the reader has seen events that were not saved, so the state is an older one.
    func hasSeenAll(
        _ position: inout WatchPosition, behind revision: Int, of past: (events: PastEvents, saved: Int)
    ) -> Bool {
        let missed = past.events.count(after: revision, wantedBy: position)
        // What was lost before the run that gave out the cursor, its readers have not seen, unless this run continues with an older state.
        let saved = past.events.lastStart(upTo: revision, after: past.saved) ?? past.saved
        if missed == 0, past.events.count(after: saved, wantedBy: position) == 0 { return true }
        position.revision = revision
        (position.isLost, position.lost) = (true, missed)
        // Events of this run count, too, unless the log has dropped some of them.
        if log.oldest > past.events.latest + 1, lastDropped(of: position) > past.events.latest { position.lost = nil }
        position.pending = position.countOfInterest(in: log, after: past.events.latest)
        return false
    }
}

extension Ledger.Record {
    fileprivate init(_ memory: ServerMemory, isSelected: Bool, shift: Duration) {
        self.init(
            server: Server(name: memory.state.name), followed: memory.followed, refreshedAt: memory.refreshedAt + shift,
            ownTimeToLive: memory.ownTimeToLive, graceEnd: memory.graceEnd.map { $0 + shift },
            staysStale: memory.staysStale, state: memory.state, definition: memory.definition)
        state.isSelected = isSelected
        state.isRefreshing = false
        state.isRestored = state.status != nil || state.phase == .failed
    }

    /// Gives a server that is overdue, or would be before its next check, one interval to report.
    ///
    /// It is given once: a daemon that restarts again and again must not keep an old status fresh. Returns whether it was given.
    fileprivate mutating func grantGrace(at now: Moment) -> Bool {
        guard !state.isStale, graceEnd == nil, let expiry, let time = ownTimeToLive ?? definition.timeToLive,
            isStale(at: now) || expiry < now.boot + (definition.interval ?? .zero)
        else { return false }
        let (wasMissed, grace) = (isStale(at: now), definition.interval ?? time)
        graceEnd = now.boot + grace
        if wasMissed { missedGrace = grace }
        explainGrace()
        return true
    }

    /// Says why an overdue server is not stale; why a server is failed matters more.
    mutating func explainGrace() {
        guard let missedGrace, expiry != nil, !state.isStale, state.status != nil, state.phase != .failed else {
            return
        }
        state.message = "\(Self.graceReason); it becomes stale \(TimeSpan.text(missedGrace)) after the restart"
    }

    private static let graceReason = "its time to live ended while statusd was down"

    /// Ends the grace; returns whether there was one.
    @discardableResult
    mutating func endGrace() -> Bool {
        guard graceEnd != nil else { return false }
        (graceEnd, missedGrace) = (nil, nil)
        if state.status != nil, state.message?.utf8.starts(with: Self.graceReason.utf8) ?? false { state.message = nil }
        return true
    }
}
