// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger.Record {
    /// The time since boot from which on the status is stale; nil where it holds for ever.
    var expiry: Duration? {
        guard let refreshedAt, let timeToLive = ownTimeToLive ?? definition.timeToLive else { return nil }
        return refreshedAt + timeToLive
    }

    /// Whether the status is older than it may be.
    func isStale(at now: Moment) -> Bool { expiry.map { $0 <= now.boot } ?? false }
}

extension Ledger {
    /// Takes how long a server itself says that its status holds; nil: as long as its configuration says.
    mutating func setTimeToLive(
        _ timeToLive: Duration?, of name: ServerName, at now: Moment
    ) throws(MonitorError) -> Consequences {
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

    /// Marks what is stale now; the last consequence says when to look again.
    mutating func expire(at now: Moment) -> [Consequences] {
        nextExpiry = nil
        var all: [Consequences] = []
        for place in records.indices where records[place].state.status != nil {
            guard !records[place].state.isStale, let expiry = records[place].expiry else { continue }
            if expiry <= now.boot {
                records[place].state.isStale = true
                all.append(append(.changed, at: place))
            } else {
                nextExpiry = min(expiry, nextExpiry ?? expiry)
            }
        }
        if let nextExpiry { all.append(Consequences(revision: log.latest, expiry: nextExpiry)) }
        return all
    }

    /// Notes when a server's status goes stale; returns that time where nobody was told to look so early.
    mutating func noteExpiry(at place: Int) -> Duration? {
        guard !records[place].state.isStale, let expiry = records[place].expiry else { return nil }
        if let nextExpiry, nextExpiry <= expiry { return nil }
        nextExpiry = expiry
        return expiry
    }
}
