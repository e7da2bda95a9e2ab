// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport

enum HostsCommand {
    static let command = ClientCommand.make(
        "hosts", abstract: "List the other hosts whose servers are followed.",
        discussion: "Hosts are followed through a broker, see statusd-mqtt(8).", mayBeRepeated: true
    ) { context in
        let (terminal, reply) = (context.terminal, try await context.client.hosts())
        if terminal.isJSON {
            terminal.json(reply)
        } else if reply.hosts.isEmpty {
            terminal.note("no other host is followed; see “follow” in statusd.yaml(5), and whether statusd-mqtt runs")
        } else {
            for line in lines(reply.hosts, terminal) { terminal.line(line) }
        }
        await context.warn()
        return .done
    }

    /// The smallest difference of clocks that is shown, in milliseconds.
    private static let shownDifference = 2000

    /// A table for people.
    private static func lines(_ hosts: [MonitorInterface.Host], _ terminal: Terminal) -> [String] {
        let rows = hosts.map { host in
            [
                VisibleText.escape(host.name), host.state.rawValue,
                Timestamp(host.since).map { TimeText.full($0) } ?? "-", "\(host.servers)",
                host.worst?.rawValue ?? "-", clock(host.clockDifference),
                host.version.map { VisibleText.escape($0) } ?? "-",
            ]
        }
        let legend = ["HOST", "STATE", "SINCE", "SERVERS", "WORST", "CLOCK", "VERSION"]
        let widths = legend.indices.map { column in ([legend] + rows).map { $0[column].displayWidth }.max() ?? 0 }
        func line(_ cells: [String]) -> [String] { zip(cells, widths).map { $0.fitted(to: $1) } }
        let style = terminal.style
        return [style.strong(trimmed(line(legend)))]
            + zip(hosts, rows).map { host, row in
                var cells = line(row)
                if host.state != .ready { cells[1] = style.level(cells[1], host.state == .lost ? .critical : .unknown) }
                if let worst = host.worst { cells[4] = style.level(cells[4], worst) }
                return trimmed(cells)
            }
    }

    private static func trimmed(_ cells: [String]) -> String {
        var line = cells.joined(separator: "  ")
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }

    /// How wrong a host's clock is, such as `2min ahead`.
    private static func clock(_ difference: Int?) -> String {
        guard let difference else { return "-" }
        guard difference.magnitude > shownDifference else { return "ok" }
        return "\(ChangeText.span(Int(clamping: difference.magnitude))) \(difference > 0 ? "ahead" : "behind")"
    }
}
