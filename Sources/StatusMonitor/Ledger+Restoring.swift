// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Restores the state of an earlier run, without an event.
    ///
    /// After a clean stop, the log and its readers continue. A run that was killed may have sent events that were not
    /// saved. It is unknown what its readers have seen, so the cursors of this run get a new epoch.
    mutating func restore(_ memory: consuming LedgerMemory, at now: Moment) {
        var position = memory.log
        if memory.isComplete {
            epoch = position.epoch
        } else {
            // Servers are saved a little later than the position. New events must be newer than the servers' states.
            position.revision = memory.servers.reduce(position.revision) { max($0, $1.state.revision) }
        }
        log.restore(memory.isComplete ? memory.entries : [], upTo: position.revision)
        (followedOfAll, followed) = (position.followedOfAll, position.followed)
        // It is unknown which servers had them.
        (followedOfSeverities[4], removalRevision) = (followedOfAll, followedOfAll.updates)
        selectionRevision = position.selectionRevision
        let shift = memory.shift(to: now)
        for server in memory.servers where records.place(of: server.state.name) == nil {
            var record = Record(server, isSelected: server.state.name == memory.log.selected, shift: shift)
            let hasGrace = record.grantGrace(at: now)
            let place = records.insert(record)
            if record.state.isOfOtherHost { restoreHost(of: place, at: now) }
            listSeverity(Grade(record.state).severity, at: place)
            // Otherwise the next start would misread its times as times of this boot, or give it the grace again.
            if hasGrace || !memory.isOfThisBoot { _ = noteUnsaved(at: place) }
        }
        if let name = memory.log.selected, records[name] != nil { selected = name }
    }
}

extension Ledger.Record {
    fileprivate init(_ memory: ServerMemory, isSelected: Bool, shift: Duration) {
        self.init(
            server: Server(name: memory.state.name), followed: memory.followed, refreshedAt: memory.refreshedAt + shift,
            ownTimeToLive: memory.ownTimeToLive, grace: memory.graceEnd.map { .until($0 + shift, missed: nil) },
            staysStale: memory.staysStale, state: memory.state, definition: memory.definition)
        state.isSelected = isSelected
        state.isRefreshing = false
        state.isRestored = state.status != nil || state.phase == .failed
    }

    /// Gives a server that is overdue, or would be before its next check, one interval to report.
    ///
    /// It is given only once, because repeated restarts must not keep an old status fresh. Returns whether it was.
    fileprivate mutating func grantGrace(at now: Moment) -> Bool {
        guard !state.isStale, grace == nil, let expiry, let time = ownTimeToLive ?? definition.timeToLive,
            isStale(at: now) || expiry < now.boot + (definition.interval ?? .zero)
        else { return false }
        let length = definition.interval ?? time
        grace = .until(now.boot + length, missed: isStale(at: now) ? length : nil)
        explainGrace()
        return true
    }

    /// Explains in the message why an overdue server is not stale; a failure's reason takes precedence.
    mutating func explainGrace() {
        guard case .until(_, let missed?) = grace, expiry != nil, !state.isStale, state.status != nil,
            state.phase != .failed
        else { return }
        state.message = "\(Self.graceReason); it becomes stale \(TimeSpan.text(missed)) after the restart"
    }

    private static let graceReason = "its time to live ended while statusd was down"

    /// Ends the grace period; returns whether there was one.
    @discardableResult
    mutating func endGrace() -> Bool {
        guard grace != nil else { return false }
        grace = nil
        if state.status != nil, state.message?.utf8.starts(with: Self.graceReason.utf8) ?? false { state.message = nil }
        return true
    }
}
