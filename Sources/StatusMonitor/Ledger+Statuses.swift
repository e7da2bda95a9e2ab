// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Takes a status: as a change if its text, level, phase or staleness differs, otherwise as an update.
    mutating func post(
        _ text: StatusText, level: Level, values: [MeasuredValue] = [], to name: ServerName, by poster: Poster,
        at now: Moment
    ) throws(LedgerError) -> Effects {
        guard let place = records.placeOfPost(to: name) else { throw .noSuchServer(name) }
        if poster != .source, !records[place].definition.takesPosts { throw .takesNoPosts(name) }
        let isChange = records[place].state.take(text, level: level, values, at: now.wall)
        return appendReport(isChange, at: place, by: poster.caller, refreshedAt: now)
    }

    /// Notes a sign of life; returns nil if that is not an event.
    mutating func touch(_ name: ServerName, at now: Moment) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        let wasStale = records[place].state.isStale
        records[place].state.isStale = false
        guard records[place].state.status != nil || wasStale else {
            records[place].refresh(at: now)
            return Effects(revision: log.latest, isFirstUnsaved: noteUnsaved(at: place))
        }
        records[place].state.status?.updatedAt = now.wall
        return appendReport(wasStale, at: place, refreshedAt: now)
    }

    /// Appends a report of the server's source, which is a sign of life unless `now` is nil.
    ///
    /// The first report since a restart is always a change, because readers still show the status as one from before
    /// the restart.
    private mutating func appendReport(
        _ isChange: Bool, at place: Int, by caller: Caller? = nil, refreshedAt now: Moment?
    ) -> Effects {
        if let now { records[place].refresh(at: now) }
        let isConfirmation = records[place].state.isRestored
        records[place].state.isRestored = false
        var effects = append(isChange || isConfirmation ? .changed : .updated, at: place, by: caller)
        if now != nil { effects.expiry = noteExpiry(at: place) }
        return effects
    }

    /// A line for people, no longer than a status: a reason may come from another process.
    private static func line(_ message: String) -> String { StatusText(fitting: message)?.rawValue ?? "" }

    // MARK: Loads

    /// Notes that a load failed; the last status stays.
    mutating func fail(_ name: ServerName, _ reason: String) throws(LedgerError) -> Effects {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        let reason = Self.line(reason)
        let isChange = records[place].state.phase != .failed || records[place].state.message != reason
        records[place].endGrace()
        records[place].state.phase = .failed
        records[place].state.message = reason
        return appendReport(isChange, at: place, refreshedAt: nil)
    }

    /// Notes a result that does not count yet, as a message of the status; returns nil without a status.
    ///
    /// The old status remains in force, so it counts as fresh. It is a change if the load before it failed, or the
    /// status was stale.
    mutating func setMessage(
        _ message: String, of name: ServerName, at now: Moment
    ) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        let before = records[place].state
        guard before.status != nil else { return nil }
        records[place].endGrace()
        records[place].state.phase = .loaded
        records[place].state.message = Self.line(message)
        records[place].state.isStale = false
        return appendReport(before.phase != .loaded || before.isStale, at: place, refreshedAt: now)
    }

    /// Notes that a requested load began or ended; returns nil if this is known already.
    mutating func setRefreshing(
        _ isRefreshing: Bool, _ name: ServerName
    ) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        guard records[place].state.isRefreshing != isRefreshing else { return nil }
        // A server that cannot be refreshed would never end it.
        guard !isRefreshing || records[place].state.isRefreshable else { return nil }
        records[place].state.isRefreshing = isRefreshing
        return append(isRefreshing ? .refreshing : .refreshed, at: place)
    }
}

extension ServerState {
    /// Takes a status; returns whether text, level or phase changed; other values are no change.
    mutating func take(
        _ text: StatusText, level: Level, _ values: [MeasuredValue], at now: Timestamp
    ) -> Bool {
        if !values.isEmpty || hasSupplement { self.values = values }
        let isSame = status?.level == level && status?.text == text
        if isSame, phase == .loaded, !isStale {
            status?.updatedAt = now
            message = nil
            return false
        }
        let isSameLevel = status?.level == level
        status = Status(
            text: text, level: level, changedAt: isSame ? status?.changedAt ?? now : now,
            levelChangedAt: isSameLevel ? status?.levelChangedAt : nil, updatedAt: now)
        phase = .loaded
        message = nil
        isStale = false
        return true
    }
}
