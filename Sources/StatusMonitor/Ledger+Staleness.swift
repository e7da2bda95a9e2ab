// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger.Record {
    /// The time since boot from which on the status is stale, or the want of one; nil where it holds for ever.
    var expiry: Duration? {
        (ownTimeToLive ?? definition.timeToLive).map { refreshedAt + $0 }
    }

    /// Whether the status is older than it may be.
    func isStale(at now: Moment) -> Bool { staysStale || expiry.map { $0 <= now.boot } ?? false }

    /// Takes note of a sign of life.
    mutating func refresh(at now: Moment) {
        refreshedAt = now.boot
        staysStale = false
    }
}

extension Ledger {
    /// Takes how long a server itself says that its status holds; nil: as long as its configuration says.
    mutating func setTimeToLive(
        _ timeToLive: Duration?, of name: ServerName, at now: Moment
    ) throws(LedgerError) -> Consequences {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        records[place].ownTimeToLive = timeToLive
        var consequences = Consequences(revision: log.latest)
        if records[place].state.isStale, !records[place].isStale(at: now) {
            records[place].state.isStale = false
            consequences = append(.changed, at: place)
        }
        consequences.expiry = noteExpiry(at: place)
        return consequences
    }

    /// Forgets how long a server itself has said that its status holds; what is stale by that stays so, since nothing is known of it that is newer.
    mutating func forgetTimeToLive(of name: ServerName, at now: Moment) throws(LedgerError) -> Consequences {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        var consequences = expire(name, at: now) ?? Consequences(revision: log.latest)
        records[place].ownTimeToLive = nil
        records[place].staysStale = records[place].state.isStale
        consequences.expiry = noteExpiry(at: place)
        return consequences
    }

    /// The servers that are to be marked as stale now, and when to look again.
    ///
    /// They are marked one by one, since there may be more of them than the log holds, and its readers are called in between.
    mutating func due(at now: Moment) -> (names: [ServerName], next: Duration?) {
        nextExpiry = nil
        var names: [ServerName] = []
        for place in records.indices {
            guard !records[place].state.isStale, let expiry = records[place].expiry else { continue }
            if expiry <= now.boot {
                names.append(records[place].state.name)
            } else {
                nextExpiry = min(expiry, nextExpiry ?? expiry)
            }
        }
        return (names, nextExpiry)
    }

    /// Marks a server as stale; nil where it is not, or not any more.
    mutating func expire(_ name: ServerName, at now: Moment) -> Consequences? {
        guard let place = records.place(of: name), !records[place].state.isStale, records[place].isStale(at: now)
        else { return nil }
        records[place].state.isStale = true
        return append(.changed, at: place)
    }

    /// Notes when a server's status goes stale; returns that time where nobody was told to look so early.
    mutating func noteExpiry(at place: Int) -> Duration? {
        guard !records[place].state.isStale, let expiry = records[place].expiry else { return nil }
        if let nextExpiry, nextExpiry <= expiry { return nil }
        nextExpiry = expiry
        return expiry
    }
}
