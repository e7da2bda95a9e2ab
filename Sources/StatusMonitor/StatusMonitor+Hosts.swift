// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

/// The servers of other hosts (``HostReport``).
extension StatusMonitor {
    /// The number of hosts that are noted as silent in one turn, each with all its servers.
    private static let hostsPerTurn = 16

    /// Names this host, without whose connection to a broker no other host is heard; nil if none is followed.
    public func setOwnHost(_ name: ServerName?) {
        let now = clock()
        let due = ledger.withLock { $0.setOwnHost(name, at: now) }
        if let due { onExpiry.withLock { $0 }?(due) }
    }

    /// Takes what a host says of itself; nil removes it, with its servers.
    ///
    /// - Parameter limit: the maximum number of hosts that may be added.
    public func report(_ report: HostReport?, of host: ServerName, limit: Int) throws(HostReportError) {
        guard let report else { return remove(ledger.withLock { $0.names(of: host) }) }
        try change { ledger, now throws(HostReportError) in try ledger.hear(report, of: host, limit: limit, at: now) }
        showCurrency(of: host)
    }

    /// Takes the state of a server on its host, with the epoch of its host at that time.
    ///
    /// - Parameter limit: the maximum number of servers that may be added.
    public func report(
        _ state: ServerState, of host: ServerName, epoch: Int, limit: Int
    ) throws(HostReportError) {
        try change { ledger, now throws(HostReportError) in
            try ledger.report(state, of: host, epoch: epoch, limit: limit, at: now)
        }
    }

    /// Removes a server that its host does not have any more.
    public func removeReported(_ server: ServerName, of host: ServerName) {
        change { ledger, _ in ledger.removeReported(server, of: host) }
    }

    /// Ends a pass, in which all hosts and servers were reported; returns what was removed, because it was in neither
    /// of the last two passes.
    public func endReportPass() -> [ServerName] {
        let gone = ledger.withLock { $0.endPass() }
        remove(gone)
        return gone
    }

    /// Removes all hosts, because none is followed any more; returns the names of what was removed.
    @discardableResult
    public func removeHosts() -> [ServerName] {
        setOwnHost(nil)
        let names = ledger.withLock { ledger in ledger.hosts.entries.keys.flatMap { ledger.names(of: $0) } }
        remove(names)
        return names
    }

    private func remove(_ names: [ServerName]) {
        for name in names { change { ledger, _ in ledger.removeGone(name) } }
    }

    /// The names of all hosts, sorted.
    public var hostNames: [ServerName] { ledger.withLock { $0.hosts.entries.keys.sorted() } }

    public func host(_ name: ServerName) -> Host? { ledger.withLock { $0.host(name) } }

    public var hostCount: Int { ledger.withLock { $0.hosts.entries.count } }

    /// The number of other hosts and their servers.
    public var reportedServerCount: Int { ledger.withLock { $0.hosts.serverCount + $0.hosts.entries.count } }

    func loseSilentHosts(at now: Moment) {
        let silent = ledger.withLock { $0.silentHosts(at: now, limit: Self.hostsPerTurn) }
        if let next = silent.next { onExpiry.withLock { $0 }?(next) }
        for host in silent.names {
            change { ledger, _ in ledger.lose(host, at: now) }
            showCurrency(of: host)
        }
    }

    private func showCurrency(of host: ServerName) {
        for name in ledger.withLock({ $0.uncertain(of: host) }) {
            change { ledger, _ in ledger.showCurrency(of: name) }
        }
    }
}
