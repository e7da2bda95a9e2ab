// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What sources say that load a status, beside the statuses they post.
extension StatusMonitor {
    /// Says that a load failed, and why; the last status stays.
    public func fail(_ name: ServerName, _ reason: String) throws(LedgerError) {
        try change { ledger, _ throws(LedgerError) in try ledger.fail(name, reason) }
    }

    /// Says what a load found that does not count yet, to be shown beside the status.
    public func remark(_ remark: String, about name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.remark(remark, about: name, at: now) }
    }

    /// Says that a load begins that somebody asked for; returns the event, or what it was where that is known already.
    @discardableResult
    public func beginRefresh(of name: ServerName) throws(LedgerError) -> Event {
        try change { ledger, _ throws(LedgerError) in try ledger.setRefreshing(true, name) }
        return try event(.refreshing, about: name)
    }

    /// Says that this load has ended, however.
    public func endRefresh(of name: ServerName) throws(LedgerError) {
        try change { ledger, _ throws(LedgerError) in try ledger.setRefreshing(false, name) }
    }

    /// An event about a server as it is now, for somebody who is told apart from all streams.
    public func event(_ kind: EventKind, about name: ServerName) throws(LedgerError) -> Event {
        try withLedger { ledger throws(LedgerError) in
            Event(kind: kind, cursor: ledger.cursor, server: try ledger.state(of: name))
        }
    }

    /// Takes how long a server itself says that its status holds; nil: as long as its configuration says.
    public func setTimeToLive(_ timeToLive: Duration?, of name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.setTimeToLive(timeToLive, of: name, at: now) }
    }

    /// Forgets how long a server itself has said that its status holds, since who said so has no say any more.
    ///
    /// What is stale stays so until there is a sign of life.
    public func forgetTimeToLive(of name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.forgetTimeToLive(of: name, at: now) }
    }
}
