// SPDX-License-Identifier: Apache-2.0

import StatusMetrics
import StatusModel
import Testing

@Suite struct MetricsReportTests {
    private static let time = Timestamp(milliseconds: 1_795_608_000_250)

    /// A server with a status; without a level, one that has none yet.
    private func server(
        _ name: String, _ level: Level? = .ok, _ values: [MeasuredValue] = [], text: String = "well"
    ) throws -> ServerState {
        var state = ServerState(
            name: try #require(ServerName(name)), source: "push", phase: level == nil ? .empty : .loaded)
        if let level {
            let later = Timestamp(milliseconds: Self.time.milliseconds + 1750)
            state.status = Status(
                text: try #require(StatusText(fitting: text)), level: level, changedAt: Self.time, updatedAt: later)
        }
        state.values = values
        return state
    }

    private func daemon(_ receivers: [MetricsReport.Receiver] = [], version: String = "1.2.3") -> MetricsReport.Daemon {
        MetricsReport.Daemon(version: version, startedAt: Self.time, reloadSucceeded: true, receivers: receivers)
    }

    private func text(
        _ servers: [ServerState], daemon: MetricsReport.Daemon? = nil, notices: Int = 0,
        _ format: MetricsFormat = .prometheus
    ) -> String {
        MetricsReport(servers: servers, notices: notices, daemon: daemon).text(format)
    }

    /// The samples of the families whose names begin with a text.
    private func samples(_ text: String, _ prefix: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(prefix) }.map(String.init)
    }

    @Test("a level is a number from 0 to 3, and there is no sample for a server without a status")
    func levels() throws {
        let servers = try [
            server("a", .ok), server("b", .warning), server("c", .critical), server("d", .unknown), server("e", nil),
        ]
        #expect(
            samples(text(servers), "statusd_server_level") == [
                #"statusd_server_level{server="a"} 0"#, #"statusd_server_level{server="b"} 1"#,
                #"statusd_server_level{server="c"} 2"#, #"statusd_server_level{server="d"} 3"#,
            ])
        #expect(
            samples(text(servers), "statusd_servers") == [
                #"statusd_servers{level="ok"} 1"#, #"statusd_servers{level="warning"} 1"#,
                #"statusd_servers{level="critical"} 1"#, #"statusd_servers{level="unknown"} 1"#,
                #"statusd_servers{level="none"} 1"#,
            ])
    }

    @Test("a status that is not current is unknown, or critical if it was, and its values are left out")
    func notCurrent() throws {
        var (stale, failed, critical) = try (
            server("a", .ok, [MeasuredValue("used", 5)]), server("b", .warning, [MeasuredValue("used", 5)]),
            server("c", .critical)
        )
        (stale.isStale, failed.phase, critical.isStale) = (true, .failed, true)
        let text = text([stale, failed, critical])
        #expect(
            samples(text, "statusd_server_level") == [
                #"statusd_server_level{server="a"} 3"#, #"statusd_server_level{server="b"} 3"#,
                #"statusd_server_level{server="c"} 2"#,
            ])
        #expect(samples(text, "statusd_server_stale").map { $0.suffix(1) } == ["1", "0", "1"])
        #expect(samples(text, "statusd_value") == [])
    }

    @Test("the other metrics of a server are its times, whether it is selected and silenced, and its source")
    func flags() throws {
        var state = try server("db")
        state.isSelected = true
        state.silence = Silence(since: Self.time)
        let text = text([state])
        #expect(text.contains("\nstatusd_server_selected{server=\"db\"} 1\n"))
        #expect(text.contains("\nstatusd_server_silenced{server=\"db\"} 1\n"))
        #expect(text.contains("\nstatusd_server_info{server=\"db\",source=\"push\"} 1\n"))
        #expect(text.contains("\nstatusd_server_last_change_timestamp_seconds{server=\"db\"} 1795608000.25\n"))
        #expect(text.contains("\nstatusd_server_last_update_timestamp_seconds{server=\"db\"} 1795608002\n"))
    }

    @Test("the daemon and its receivers have metrics, which are absent if the daemon does not tell")
    func daemon() throws {
        let receivers = [
            MetricsReport.Receiver(name: "mail", due: 1, held: 2, deliveries: 3, failures: 4, failuresInRow: 5)
        ]
        let full = text([], daemon: daemon(receivers), notices: 2)
        #expect(
            samples(full, "statusd_alerts") == [
                #"statusd_alerts_due{receiver="mail"} 1"#, #"statusd_alerts_held{receiver="mail"} 2"#,
                #"statusd_alerts_deliveries_total{receiver="mail"} 3"#,
                #"statusd_alerts_failures_total{receiver="mail"} 4"#,
                #"statusd_alerts_consecutive_failures{receiver="mail"} 5"#,
            ])
        #expect(full.contains("\nstatusd_notices 2\n"))
        #expect(full.contains("\nstatusd_build_info{version=\"1.2.3\"} 1\n"))
        #expect(full.contains("\nstatusd_reload_successful 1\n"))
        #expect(full.contains("\nstatusd_start_time_seconds 1795608000.25\n"))
        let part = text([])
        for name in ["statusd_alerts", "statusd_build", "statusd_reload", "statusd_start"] {
            #expect(!part.contains(name))
        }
    }

    /// A host and its server, as they are followed.
    private func host(_ name: String, isReady: Bool = true) throws -> [ServerState] {
        var servers = try [server(name, isReady ? .ok : .critical), server("db@\(name)", .ok)]
        for index in servers.indices { servers[index].source = Host.source }
        return servers
    }

    @Test("other hosts are up or not, with the number of their servers")
    func hosts() throws {
        let text = text(try [server("getty@tty1", .ok)] + host("web1") + host("web2", isReady: false))
        #expect(
            samples(text, "statusd_host") == [
                #"statusd_host_up{host="web1"} 1"#, #"statusd_host_up{host="web2"} 0"#,
                #"statusd_host_servers{host="web1"} 1"#, #"statusd_host_servers{host="web2"} 1"#,
            ])
        #expect(samples(text, "statusd_server_level").count == 5)
    }

    @Test("of over 2,000 servers, those of other hosts are left out, but counted")
    func hub() throws {
        let text = text(try [server("getty@tty1", .ok)] + (0..<1000).flatMap { try host("web\($0)") })
        #expect(samples(text, "statusd_server_level").count == 1001)
        #expect(samples(text, "statusd_server_level").contains(#"statusd_server_level{server="getty@tty1"} 0"#))
        #expect(samples(text, "statusd_host_servers").count { $0.hasSuffix(" 1") } == 1000)
        #expect(samples(text, "statusd_servers").first == #"statusd_servers{level="ok"} 2001"#)
    }

    @Test("each family has one HELP and one TYPE, just before all of its samples")
    func families() throws {
        let values = [MeasuredValue("used", 5, "%"), MeasuredValue("requests", 7, "c")]
        let servers = try [server("a", .ok, values), server("b", .ok, values)]
        let lines = text(servers, daemon: daemon()).split(separator: "\n")
        var (open, seen) = (Substring(), Set<Substring>())
        for (index, line) in lines.enumerated() {
            let words = line.split(separator: " ", maxSplits: 3)
            if line.hasPrefix("# HELP ") {
                open = words[2]
                #expect(seen.insert(open).inserted)
                #expect(lines[index + 1].hasPrefix("# TYPE \(open) "))
            } else if !line.hasPrefix("#") {
                #expect(line.prefix { $0 != "{" && $0 != " " } == open)
            }
        }
        #expect(seen.contains("statusd_value_requests_total"))
    }

    @Test("OpenMetrics names a counter without _total and an info without _info, has units, and ends in EOF")
    func openMetrics() throws {
        let values = [MeasuredValue("used", 5, "%"), MeasuredValue("requests", 7, "c")]
        let text = text([try server("a", .ok, values)], daemon: daemon(), .openMetrics)
        #expect(text.hasSuffix("\n# EOF\n"))
        for line in [
            "# TYPE statusd_value_requests counter", #"statusd_value_requests_total{server="a"} 7"#,
            "# TYPE statusd_build info", #"statusd_build_info{version="1.2.3"} 1"#,
            "# TYPE statusd_value_used_ratio gauge", "# UNIT statusd_value_used_ratio ratio",
            "# UNIT statusd_start_time_seconds seconds",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test("no text of a server is in a metric, and no label can end its line or its quotation marks")
    func hostileTexts() throws {
        let hostile = "x\"} 1\nforged 1\r\n\\\"\u{85}\u{2028}ü"
        var state = try server("a", text: "forged")
        (state.source, state.message, state.description) = (hostile, hostile, hostile)
        state.silence = Silence(since: Self.time, reason: hostile)
        let receiver = MetricsReport.Receiver(
            name: hostile, due: 0, held: 0, deliveries: -1, failures: 0, failuresInRow: 0)
        for format in [MetricsFormat.prometheus, .openMetrics] {
            let text = text([state], daemon: daemon([receiver], version: hostile), format)
            #expect(
                text.utf8.split(separator: 0x0A).allSatisfy {
                    $0.starts(with: "# ".utf8) || $0.starts(with: "statusd_".utf8)
                })
            // Escaped by hand: a backslash and an n for the line end.
            #expect(text.contains(#"version="x\"} 1\nforged 1"# + "\u{FFFD}" + #"\n\\\""# + "\u{FFFD}\u{2028}ü\"} 1\n"))
            #expect(text.contains("_total{receiver=\"x\\\"} 1"))
            #expect(!text.contains("-1"))
        }
    }

    @Test("two servers or receivers with the same name, which only another daemon would have, count once")
    func duplicates() throws {
        let receiver = MetricsReport.Receiver(
            name: "mail", due: 1, held: 2, deliveries: 3, failures: 4, failuresInRow: 5)
        let text = text(try [server("a"), server("a", .critical)], daemon: daemon([receiver, receiver]))
        #expect(samples(text, "statusd_server_level") == [#"statusd_server_level{server="a"} 0"#])
        #expect(samples(text, "statusd_alerts_due").count == 1)
    }
}
