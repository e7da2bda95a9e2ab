// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What another host says of itself, or a broker says of it.
public struct HostReport: Hashable, Sendable {
    public var state: HostState
    /// The number of the host's connection to the broker, which grows with each connection.
    public var epoch: Int
    /// Identifies the machine, because two machines may have the same name; nil if that is unknown.
    public var machine: String?
    /// The version of its statusd.
    public var version: String?
    /// How far its clock is ahead of this host's; nil if that was not measured, because the broker had kept the report.
    public var clockDifference: Duration?

    /// Whether the host has just said it.
    var isLive: Bool { clockDifference != nil }

    public init(
        state: HostState, epoch: Int, machine: String? = nil, version: String? = nil, clockDifference: Duration? = nil
    ) {
        (self.state, self.epoch, self.machine) = (state, epoch, machine)
        (self.version, self.clockDifference) = (version, clockDifference)
    }
}

/// Why the report of another host was refused.
public enum HostReportError: Error, Hashable, Sendable {
    /// The host is ready as another machine.
    case otherMachine(ServerName)
    /// The name of the server here, `db@web1`, would be too long.
    case nameTooLong(ServerName, host: ServerName)
    /// A server of this name is not of another host.
    case isLocal(ServerName)
    /// The host has too many servers; the number is the limit.
    case tooManyServers(ServerName, limit: Int)
    /// There are too many servers; the number is the limit.
    case full(limit: Int)
}

/// The other hosts, and the names here of the servers that each of them has reported.
struct HostTable {
    /// A host says once a minute that it is ready; after three times without, it is lost.
    static let longestSilence = Duration.seconds(185)
    /// Lost before the others, so that it is told why they are.
    static let longestSilenceOfOwn = Duration.seconds(125)
    /// The maximum number of servers of one host, so that no host takes the room of the others.
    static let maximumServers = 1024

    struct Entry {
        var report: HostReport
        /// Whether the connection of this epoch has ended, so that what comes of it is late.
        var isOver = false
        var since: Timestamp
        var heardAt: Moment
        /// The pass in which it was last reported.
        var pass: Int
        /// Whether it is this host: its state is that of the connection to the broker.
        var isOwn: Bool
        var servers: Set<ServerName> = []
        /// The difference of the clocks that was measured last.
        var lastDifference: Duration?

        /// The difference of the clocks after another measurement, if there is one.
        ///
        /// A report that was under way for long makes a clock look late, so the larger one of two is nearer.
        func clockDifference(with measured: Duration?) -> Duration? {
            guard let measured else { return report.clockDifference }
            return max(measured, lastDifference ?? measured)
        }

        var isReady: Bool { report.state == .ready }

        /// When the host counts as lost, unless it is heard.
        var expiry: Duration {
            heardAt.boot + (isOwn ? HostTable.longestSilenceOfOwn : HostTable.longestSilence)
        }
    }

    var entries: [ServerName: Entry] = [:]
    /// This host; the others are followed through its connection to a broker.
    var own: ServerName? {
        didSet { for host in entries.keys { entries[host]?.isOwn = host == own } }
    }
    /// When this host counts as lost, unless it has reported for the first time; nil if it has.
    var ownDue: Duration?
    /// The number of all their servers.
    private(set) var serverCount = 0
    /// The number of the pass that has begun; each reports all servers (``Ledger/endPass()``).
    var pass = 0

    mutating func insert(_ server: ServerName, of host: ServerName) {
        if entries[host]?.servers.insert(server).inserted == true { serverCount += 1 }
    }

    mutating func remove(_ server: ServerName) {
        guard let host = server.host, entries[host]?.servers.remove(server) != nil else { return }
        serverCount -= 1
    }

    /// Whether a server that was reported in this epoch is current, if it was on its host.
    func isCurrent(_ epoch: Int, of host: ServerName) -> Bool {
        guard let entry = entries[host] else { return false }
        return entry.isReady && entry.report.epoch == epoch
    }
}

/// What a followed server was when its host last reported it; kept outside the record, because most servers are local.
final class ServerReport: Sendable {
    let epoch: Int
    /// The revision of the server's last event on its host.
    let revision: Int
    let pass: Int
    /// Whether it was stale on its host.
    let isStale: Bool
    let silence: Silence?

    /// Creates a report; by default, one that is older than any other.
    init(epoch: Int = -1, revision: Int = -1, pass: Int = -1, isStale: Bool = false, silence: Silence? = nil) {
        (self.epoch, self.revision, self.pass) = (epoch, revision, pass)
        (self.isStale, self.silence) = (isStale, silence)
    }

    /// The same report, in another pass.
    func with(pass: Int) -> ServerReport {
        ServerReport(epoch: epoch, revision: revision, pass: pass, isStale: isStale, silence: silence)
    }
}
