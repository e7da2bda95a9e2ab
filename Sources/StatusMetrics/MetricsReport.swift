// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What metrics tell of a daemon and its servers, and their text.
///
/// Names follow the rules of Prometheus: base units, the unit in the name, and `_total` for counters.
public struct MetricsReport: Sendable {
    /// A receiver of alerts, since the daemon started.
    public struct Receiver: Sendable {
        let (name, due, held, deliveries, failures, failuresInRow): (String, Int, Int, Int, Int, Int)

        public init(name: String, due: Int, held: Int, deliveries: Int, failures: Int, failuresInRow: Int) {
            (self.name, self.due, self.held) = (name, due, held)
            (self.deliveries, self.failures, self.failuresInRow) = (deliveries, failures, failuresInRow)
        }
    }

    /// The daemon itself.
    public struct Daemon: Sendable {
        let version: String
        let startedAt: Timestamp?
        let reloadSucceeded: Bool
        let receivers: [Receiver]

        public init(version: String, startedAt: Timestamp?, reloadSucceeded: Bool, receivers: [Receiver]) {
            (self.version, self.startedAt) = (version, startedAt)
            (self.reloadSucceeded, self.receivers) = (reloadSucceeded, receivers)
        }
    }

    /// What is told of all servers together.
    public struct Totals: Sendable {
        /// The number of servers with each level; nil is no status yet.
        let counts: [Level?: Int]
        /// The number of servers of each other host.
        let hostServers: [ServerName: Int]

        public init(counts: [Level?: Int], hostServers: [ServerName: Int]) {
            (self.counts, self.hostServers) = (counts, hostServers)
        }

        init(_ servers: [ServerState]) {
            var (counts, hostServers): ([Level?: Int], [ServerName: Int]) = ([:], [:])
            for server in servers {
                counts[server.countedLevel, default: 0] += 1
                if server.isOfOtherHost, let host = server.name.host { hostServers[host, default: 0] += 1 }
            }
            (self.counts, self.hostServers) = (counts, hostServers)
        }

        var count: Int { counts.values.reduce(0, +) }
    }

    /// With more servers, those of other hosts are left out: each of these hosts has its own metrics, and 100,000
    /// servers would be 50 MB.
    static let mostServers = 2000

    private let servers: [ServerState]
    private let totals: Totals
    private let notices: Int
    private let daemon: Daemon?

    /// - Parameters:
    ///   - totals: what is told of all servers; nil if `servers` are all.
    ///   - notices: the number of messages of the daemon for the administrator.
    ///   - daemon: nil if the daemon does not tell.
    public init(servers: [ServerState], totals: Totals? = nil, notices: Int, daemon: Daemon?) {
        // Prometheus refuses all metrics if two have the same labels, and the peer may not be statusd.
        let unique = Self.unique(servers) { $0.name.rawValue }
        let totals = totals ?? Totals(unique)
        let areMany = totals.count > Self.mostServers
        self.servers = areMany ? unique.filter { !$0.isOfOtherHost || $0.name.host == nil } : unique
        self.totals = totals
        self.notices = notices
        self.daemon = daemon.map { daemon in
            Daemon(
                version: daemon.version, startedAt: daemon.startedAt, reloadSucceeded: daemon.reloadSucceeded,
                receivers: Self.unique(daemon.receivers) { $0.name })
        }
    }

    private static func unique<Element>(_ elements: [Element], by name: (Element) -> String) -> [Element] {
        var seen: Set<[UInt8]> = []
        return elements.filter { seen.insert(Array(name($0).utf8)).inserted }
    }

    /// The whole text in a format.
    public func text(_ format: MetricsFormat) -> String {
        var text = ""
        let ofServers = serverFamilies + ValueFamilies(servers).families
        for family in ofServers + hostFamilies + daemonFamilies + receiverFamilies { family.write(format, to: &text) }
        return format == .openMetrics ? text + "# EOF\n" : text
    }

    // MARK: -

    private var serverFamilies: [MetricFamily] {
        [
            family(
                "statusd_server_level",
                "The level of a server: 0 ok, 1 warning, 2 critical, 3 unknown or not current."
            ) { $0.countedLevel.map(Self.number) },
            family(
                "statusd_server_last_change_timestamp_seconds",
                "When the level of a server last changed, in seconds since 1970.", unit: "seconds"
            ) { $0.status.map { Self.seconds($0.levelChangedAt) } },
            family(
                "statusd_server_last_update_timestamp_seconds",
                "When a server last had a status, changed or not, in seconds since 1970.", unit: "seconds"
            ) { $0.status.map { Self.seconds($0.updatedAt) } },
            family("statusd_server_stale", "Whether the status of a server is older than its time to live.") {
                $0.isStale ? 1 : 0
            },
            family("statusd_server_selected", "Whether a server is the selected one.") { $0.isSelected ? 1 : 0 },
            family("statusd_server_silenced", "Whether nobody is told of the problems of a server.") {
                $0.silence == nil ? 0 : 1
            },
            family("statusd_server", "The source kind of a server.", .info, labels: { [("source", $0.source)] }) {
                _ in 1
            },
            counts,
        ]
    }

    private func family(
        _ name: String, _ help: String, _ kind: MetricFamily.Kind = .gauge, unit: String? = nil,
        labels: (ServerState) -> [(name: String, value: String)] = { _ in [] }, value: (ServerState) -> Double?
    ) -> MetricFamily {
        var family = MetricFamily(name, help, kind, unit: unit)
        family.samples = servers.compactMap { server in
            value(server).map { .init([("server", server.name.rawValue)] + labels(server), $0) }
        }
        return family
    }

    private var counts: MetricFamily {
        var family = MetricFamily("statusd_servers", "The number of servers with a level; none is no status yet.")
        for level in Level.allCases as [Level?] + [nil] {
            family.samples.append(.init([("level", level?.rawValue ?? "none")], Double(totals.counts[level] ?? 0)))
        }
        return family
    }

    /// Other hosts, whose servers are followed here.
    private var hostFamilies: [MetricFamily] {
        func family(_ name: String, _ help: String, value: (ServerState) -> Double) -> MetricFamily {
            var family = MetricFamily(name, help)
            let hosts = servers.filter { $0.isOfOtherHost && $0.name.host == nil }
            family.samples = hosts.map { .init([("host", $0.name.rawValue)], value($0)) }
            return family
        }
        return [
            family("statusd_host_up", "Whether the statusd of another host can be heard.") { $0.isHealthy ? 1 : 0 },
            family("statusd_host_servers", "The number of servers of another host.") {
                Double(totals.hostServers[$0.name] ?? 0)
            },
        ]
    }

    private var daemonFamilies: [MetricFamily] {
        var families: [MetricFamily] = []
        func add(
            _ name: String, _ help: String, _ kind: MetricFamily.Kind = .gauge, unit: String? = nil,
            labels: [(name: String, value: String)] = [], value: Double
        ) {
            var family = MetricFamily(name, help, kind, unit: unit)
            family.samples = [.init(labels, value)]
            families.append(family)
        }
        add(
            "statusd_notices", "The number of warnings that statusctl status shows to the administrator.",
            value: Double(notices))
        guard let daemon else { return families }
        add("statusd_build", "The version of the daemon.", .info, labels: [("version", daemon.version)], value: 1)
        if let time = daemon.startedAt {
            add(
                "statusd_start_time_seconds", "When the daemon started, in seconds since 1970.", unit: "seconds",
                value: Self.seconds(time))
        }
        add(
            "statusd_reload_successful", "Whether the configuration had no errors when it was last read.",
            value: daemon.reloadSucceeded ? 1 : 0)
        return families
    }

    private var receiverFamilies: [MetricFamily] {
        func family(
            _ name: String, _ help: String, _ kind: MetricFamily.Kind = .gauge, value: (Receiver) -> Int
        ) -> MetricFamily {
            var family = MetricFamily(name, help, kind)
            // A counter has no negative value.
            family.samples = (daemon?.receivers ?? []).map { .init([("receiver", $0.name)], Double(max(0, value($0)))) }
            return family
        }
        return [
            family("statusd_alerts_due", "The number of servers of which a receiver must be told now.") { $0.due },
            family("statusd_alerts_held", "The number of servers of which a receiver is not to be told yet.") {
                $0.held
            },
            family("statusd_alerts_deliveries", "The number of deliveries that a receiver took.", .counter) {
                $0.deliveries
            },
            family("statusd_alerts_failures", "The number of deliveries that a receiver did not take.", .counter) {
                $0.failures
            },
            family(
                "statusd_alerts_consecutive_failures",
                "The number of failed deliveries since the last one that a receiver took."
            ) { $0.failuresInRow },
        ]
    }

    private static func number(_ level: Level) -> Double {
        switch level {
        case .ok: 0
        case .warning: 1
        case .critical: 2
        case .unknown: 3
        }
    }

    private static func seconds(_ time: Timestamp) -> Double { Double(time.milliseconds) / 1000 }
}
