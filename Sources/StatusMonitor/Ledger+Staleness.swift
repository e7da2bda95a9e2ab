// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger.Record {
    /// The time since boot at which the status, or the lack of one, becomes stale; nil if it never does.
    var expiry: Duration? { (ownTimeToLive ?? definition.timeToLive).map { max(refreshedAt + $0, graceEnd ?? .zero) } }

    /// The end of the grace period, if there is one.
    var graceEnd: Duration? { if case .until(let end, _) = grace { end } else { nil } }

    /// Whether the status is older than its time to live.
    func isStale(at now: Moment) -> Bool { staysStale || expiry.map { $0 <= now.boot } ?? false }

    /// Notes a sign of life.
    mutating func refresh(at now: Moment) {
        refreshedAt = now.boot
        staysStale = false
        endGrace()
    }
}

extension Ledger {
    /// Sets the time to live that a server's program requested; nil restores the configured one.
    mutating func setTimeToLive(
        _ timeToLive: Duration?, of name: ServerName, at now: Moment
    ) throws(LedgerError) -> Effects {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        records[place].ownTimeToLive = timeToLive
        var effects = Effects(revision: log.latest, isFirstUnsaved: noteUnsaved(at: place))
        if records[place].state.isStale, !records[place].isStale(at: now) {
            records[place].state.isStale = false
            effects = append(.changed, at: place)
        }
        effects.expiry = noteExpiry(at: place)
        return effects
    }

    /// Forgets the time to live that a server's program requested.
    ///
    /// A stale status stays stale, because nothing newer is known.
    mutating func forgetTimeToLive(of name: ServerName, at now: Moment) throws(LedgerError) -> Effects {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        var effects = expire(name, at: now) ?? Effects(revision: log.latest)
        records[place].ownTimeToLive = nil
        records[place].staysStale = records[place].state.isStale
        effects.expiry = noteExpiry(at: place)
        return effects
    }

    /// The servers whose status has become stale, and the time of the next check.
    ///
    /// The caller marks the servers one by one. There may be more of them than the log holds, so its readers are called
    /// in between.
    mutating func due(at now: Moment) -> (names: [ServerName], next: Duration?) {
        nextExpiry = nil
        var names: [ServerName] = []
        for place in records.indices {
            // To compute a record's expiry, the record is copied; of 100,000 servers, few may have a time to live.
            guard records[place].ownTimeToLive != nil || records[place].definition.timeToLive != nil,
                !records[place].state.isStale, let expiry = records[place].expiry
            else { continue }
            if expiry <= now.boot {
                names.append(records[place].state.name)
            } else {
                nextExpiry = min(expiry, nextExpiry ?? expiry)
            }
        }
        return (names, nextExpiry)
    }

    /// Marks a server as stale; returns nil if it is not stale, or is already marked.
    mutating func expire(_ name: ServerName, at now: Moment) -> Effects? {
        guard let place = records.place(of: name), !records[place].state.isStale, records[place].isStale(at: now)
        else { return nil }
        records[place].endGrace()
        records[place].state.isStale = true
        return append(.changed, at: place)
    }

    /// Notes when a server's status becomes stale; returns that time if it is earlier than the next scheduled check.
    mutating func noteExpiry(at place: Int) -> Duration? {
        // Members by themselves first: to compute a record's expiry, the record is copied.
        guard records[place].ownTimeToLive != nil || records[place].definition.timeToLive != nil,
            !records[place].state.isStale, let expiry = records[place].expiry
        else { return nil }
        if let nextExpiry, nextExpiry <= expiry { return nil }
        nextExpiry = expiry
        return expiry
    }
}
