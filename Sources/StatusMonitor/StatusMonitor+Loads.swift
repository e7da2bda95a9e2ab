// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

/// Reports of sources about loads.
extension StatusMonitor {
    /// Notes that a load failed, and why; the last status stays.
    public func fail(_ name: ServerName, _ reason: String) throws(LedgerError) {
        try change { ledger, _ throws(LedgerError) in try ledger.fail(name, reason) }
    }

    /// Notes a result that does not count yet, as a message that is shown with the status.
    public func setMessage(_ message: String, of name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.setMessage(message, of: name, at: now) }
    }

    /// Notes that a requested load begins; returns a `refreshing` event with the server's current state.
    ///
    /// It returns the event even if the load was known already.
    @discardableResult
    public func beginRefresh(of name: ServerName) throws(LedgerError) -> Event {
        try change { ledger, _ throws(LedgerError) in try ledger.setRefreshing(true, name) }
        return try event(.refreshing, about: name)
    }

    /// Notes that the requested load has ended, or that its last caller has disconnected.
    public func endRefresh(of name: ServerName) throws(LedgerError) {
        try change { ledger, _ throws(LedgerError) in try ledger.setRefreshing(false, name) }
    }

    /// Creates an event with a server's current state, for a reply outside of all streams.
    public func event(_ kind: EventKind, about name: ServerName) throws(LedgerError) -> Event {
        try ledger.withLock { ledger throws(LedgerError) in
            Event(kind: kind, cursor: ledger.cursor, server: try ledger.state(of: name))
        }
    }

    /// Sets the time to live that a server's program requested; nil restores the configured one.
    public func setTimeToLive(_ timeToLive: Duration?, of name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.setTimeToLive(timeToLive, of: name, at: now) }
    }

    /// The time since a server's last sign of life, or its addition.
    public func age(of name: ServerName) throws(LedgerError) -> Duration {
        let now = clock()
        let refreshedAt = try ledger.withLock { ledger throws(LedgerError) in try ledger.record(of: name).refreshedAt }
        return now.boot - refreshedAt
    }

    /// The time to live that a server's program requested, if any.
    public func ownTimeToLive(of name: ServerName) throws(LedgerError) -> Duration? {
        try ledger.withLock { ledger throws(LedgerError) in try ledger.record(of: name).ownTimeToLive }
    }

    /// Forgets the time to live that a server's program requested, because that program no longer counts.
    ///
    /// A stale status stays stale until a sign of life.
    public func forgetTimeToLive(of name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.forgetTimeToLive(of: name, at: now) }
    }
}
