// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Servers and events as lines for people.
enum ServerText {
    /// The level, or the word that replaces it: failed, loading or stale.
    static func levelWord(_ server: ServerState) -> String {
        if server.phase == .failed { return "failed" }
        if server.phase == .loading { return "loading" }
        if server.isStale { return "stale" }
        return server.status?.level.rawValue ?? "-"
    }

    /// The table of `list`, with one line for each server.
    static func table(_ servers: [ServerState], style: Style, width: Int?, legend: Bool) -> [String] {
        let header = ["", "SERVER", "STATUS", "LEVEL", "SINCE", "SOURCE"]
        let rows = servers.map { server in
            [
                server.isSelected ? "*" : "", server.name.rawValue, tableText(server), levelWord(server),
                server.status.map { TimeText.full($0.levelChangedAt) } ?? "-", server.source,
            ]
        }
        var widths = (0..<header.count).map { column in
            ([header] + rows).map { $0[column].count }.max() ?? 0
        }
        widths[0] = 1
        // On a terminal, texts are cut to keep each server on one line.
        if let width {
            let others = widths.reduce(0, +) - widths[2] + 2 * (header.count - 1)
            widths[2] = max(min(widths[2], width - others), 10)
        }
        func line(_ cells: [String], _ server: ServerState?) -> String {
            var line = ""
            for (column, cell) in cells.enumerated() {
                let fitted = fit(cell, widths[column], style.ellipsis)
                let painted = column == 3 ? server.map { style.level(fitted, of: $0) } ?? fitted : fitted
                line += (column == 0 ? "" : column == 1 ? " " : "  ") + (column == cells.count - 1 ? cell : painted)
            }
            return line
        }
        return (legend ? [style.strong(line(header, nil))] : []) + zip(rows, servers).map { line($0, $1) }
    }

    /// The lines of `status` for one server.
    static func details(_ server: ServerState, style: Style) -> [String] {
        let mark = server.isRestored ? " " + style.faint(beforeRestart) : ""
        var lines = ["\(style.strong(server.name.rawValue)): \(style.level(headline(server), of: server))\(mark)"]
        func add(_ label: String, _ value: String?) {
            if let value { lines.append("  \(fit(label + ":", 13)) \(value)") }
        }
        add("Description", server.description)
        let (word, level) = (levelWord(server), server.status?.level.rawValue)
        add("Level", level.map { $0 == word ? word : "\(word) (was \($0))" } ?? word)
        if server.status != nil, let message = server.message { add("Reason", message) }
        add("Since", server.status.map { TimeText.full($0.levelChangedAt) })
        add("Changed", server.status.map { TimeText.full($0.changedAt) })
        add("Updated", server.status.map { TimeText.full($0.updatedAt) })
        add("Source", server.source)
        if isStaleUnsaid(server) { add("Stale", "yes") }
        if server.isRefreshing { add("Refreshing", "yes") }
        add("Selected", server.isSelected ? "yes" : "no")
        return lines
    }

    /// The lines of `watch` for an event; none for events that `watch` does not show.
    ///
    /// A snapshot with `isSwitch` is marked as a selection: the selection moved while the reader was behind.
    static func lines(for event: Event, isSwitch: Bool = false, style: Style) -> [String] {
        switch event.kind {
        case .alive: return []
        case .gap where event.missed == 0:
            return [style.faint("-- the state is an older one; what was shown last had not been saved")]
        case .gap: return [style.faint("-- \(event.missed.map(String.init) ?? "some") events missed")]
        case .snapshot where !isSwitch:
            return (event.servers ?? event.server.map { [$0] })?.map { line($0, style) } ?? [none(style)]
        case .selected, .snapshot:
            guard let server = event.server else { return [none(style)] }
            return [style.faint("-- selected ") + line(server, style)]
        case .added, .removed:
            return event.server.map { [style.faint("-- \(event.kind.rawValue) ") + $0.name.rawValue] } ?? []
        // A change by the refresh has its own event.
        case .refreshing, .refreshed: return []
        case .changed, .updated: return event.server.map { [line($0, style)] } ?? []
        }
    }

    private static func none(_ style: Style) -> String { style.faint("-- no server selected") }

    /// One line with a server's status and its time.
    static func line(_ server: ServerState, _ style: Style) -> String {
        let time = server.status.map { TimeText.short($0.updatedAt) } ?? "--:--:--"
        let word = style.level(levelWord(server), of: server)
        return "\(style.faint(time)) \(server.name): \(headline(server)) [\(word)]\(reason(for: server))"
    }

    /// The reason why the shown status may not be current; includes “stale” if ``levelWord(_:)`` does not.
    static func reason(for server: ServerState) -> String {
        var reason = server.status == nil ? "" : server.message.map { " (\($0))" } ?? ""
        if isStaleUnsaid(server) { reason += " (stale)" }
        return server.isRestored ? "\(reason) \(beforeRestart)" : reason
    }

    /// The mark of a status that the server's source has not confirmed since the daemon's restart.
    private static let beforeRestart = "(before restart)"

    private static func isStaleUnsaid(_ server: ServerState) -> Bool { server.isStale && levelWord(server) != "stale" }

    /// The status in `list`, with the reason if the server is failed.
    private static func tableText(_ server: ServerState) -> String {
        if server.phase == .failed { return headline(server) + reason(for: server) }
        return server.isRestored ? "\(headline(server)) \(beforeRestart)" : headline(server)
    }

    /// The text of the status, or the reason in brackets if there is no status.
    static func headline(_ server: ServerState) -> String {
        server.status == nil ? "(\(server.headline))" : server.headline
    }

    /// Pads with blanks, or cuts and adds an ellipsis.
    static func fit(_ text: String, _ width: Int, _ ellipsis: String = "") -> String {
        let count = text.count
        if count > width { return text.prefix(width - ellipsis.count) + ellipsis }
        return text + String(repeating: " ", count: width - count)
    }
}
