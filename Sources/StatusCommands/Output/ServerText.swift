// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Servers and events as lines for people.
enum ServerText {
    /// The columns before a value of ``details(_:followsWorst:style:width:now:)``.
    static let labelWidth = 16

    /// The level, or the word that replaces it: failed, loading or stale.
    static func levelWord(_ server: ServerState) -> String {
        if server.phase == .failed { return "failed" }
        if server.phase == .loading { return "loading" }
        if server.isStale { return "stale" }
        return server.status?.level.rawValue ?? "-"
    }

    /// The word for a server's state, also of one that has no status yet: ``levelWord(_:)`` or its phase.
    static func stateWord(_ server: ServerState) -> String {
        let word = levelWord(server)
        return word == "-" ? server.phase.rawValue : word
    }

    /// The lines of `status` for one server.
    ///
    /// - Parameters:
    ///   - width: the width of the terminal, at which long values are wrapped; nil if they are not.
    ///   - silencer: the name of the user who began the silence.
    ///   - bars: how values are drawn; nil for text alone.
    ///   - now: the time from which ages are counted; nil if they, and the time of the last update, would soon be
    ///     wrong.
    static func details(
        _ server: ServerState, followsWorst: Bool = false, silencer: String? = nil, bars: ValueBars? = nil,
        style: Style, width: Int?, now: Timestamp? = TimeText.now
    ) -> [String] {
        var lines = title(server, style, width)
        func add(_ label: String, _ value: String?) {
            guard let value else { return }
            let parts = width.map { value.wrapped(to: max(20, $0 - labelWidth)) } ?? [value]
            for (number, part) in parts.enumerated() {
                lines.append((number == 0 && !label.isEmpty ? "  \(label):" : "").fitted(to: labelWidth) + part)
            }
        }
        func time(_ time: Timestamp) -> String {
            TimeText.full(time) + (now.map { "; \(TimeText.age(time, now: $0)) ago" } ?? "")
        }
        add("Description", server.description)
        let (word, level) = (levelWord(server), server.status?.level.rawValue)
        add("Level", level.map { $0 == word ? word : "\(word) (was \($0))" } ?? word)
        if server.status != nil, let message = server.message { add("Reason", message) }
        add("Since", server.status.map { time($0.levelChangedAt) })
        add("Changed", server.status.map { time($0.changedAt) })
        if now != nil { add("Updated", server.status.map { time($0.updatedAt) }) }
        add("Source", server.source)
        add("Group", server.group?.rawValue)
        add("Parent", server.parent?.rawValue)
        if let bars {
            // They fit, and control sequences cannot be wrapped.
            for (number, line) in bars.lines(server.values, atWorst: server.countedLevel).enumerated() {
                lines.append((number == 0 ? "  Values:" : "").fitted(to: labelWidth) + line)
            }
        } else {
            for (number, value) in server.values.enumerated() { add(number == 0 ? "Values" : "", self.value(value)) }
        }
        if let check = server.check {
            add("Unit", check.unit)
            add("Command", check.command?.joined(separator: " "))
            if let begin = check.startedAt, let milliseconds = check.milliseconds {
                add("Checked", time(begin) + "; took \(ChangeText.span(milliseconds))")
            }
            add("Next check", check.next.map { TimeText.full($0) })
            add("Performance", check.output?.performanceData)
            for (number, line) in (check.output?.longOutput ?? "").split(separator: "\n").enumerated() {
                add(number == 0 ? "Output" : "", String(line))
            }
        }
        if isStaleUnsaid(server) { add("Stale", "yes") }
        add("Silenced", server.silence.map { silence($0, by: silencer) })
        if server.isRefreshing { add("Refreshing", "yes") }
        add("Selected", server.isSelected ? followsWorst ? "yes, as the worst server" : "yes" : "no")
        return lines
    }

    /// A number with its limits: `used: 71% (warning 85%, critical 95%)`.
    private static func value(_ value: MeasuredValue) -> String {
        "\(value.name): \(value.text)" + (value.limits.isEmpty ? "" : " (\(value.limits))")
    }

    /// The lines of `refresh --verbose`: what a check ran, how that ended, and what it wrote.
    static func run(_ check: CheckRun) -> [String] {
        var lines: [String] = []
        if let command = check.command { lines.append("command:     \(command.joined(separator: " "))") }
        if let milliseconds = check.milliseconds { lines.append("took:        \(ChangeText.span(milliseconds))") }
        guard let output = check.output else { return lines }
        if let status = output.exitStatus { lines.append("exit status: \(status)") }
        if let signal = output.signal { lines.append("signal:      \(signal)") }
        for (label, text) in [("standard output", output.output), ("standard error", output.errors)] {
            lines.append("\(label):\(text.isEmpty ? " nothing" : "")")
            lines += text.split(separator: "\n", omittingEmptySubsequences: false).filter { _ in !text.isEmpty }
                .map { "  \($0)" }
        }
        return lines
    }

    /// The name, the text, and whether it is from before a restart.
    private static func title(_ server: ServerState, _ style: Style, _ width: Int?) -> [String] {
        let name = "\(server.name): "
        let mark = server.isRestored ? " " + style.faint(beforeRestart) : ""
        // The name stays whole; as many columns are left on its line as if it were a part of the text.
        let blanks = String(repeating: "x", count: name.count)
        let text = width.map { (blanks + headline(server)).wrapped(to: $0) } ?? [blanks + headline(server)]
        let first = style.strong(server.name.rawValue) + ": "
        let parts = [String(text[0].dropFirst(name.count))] + text.dropFirst()
        return parts.enumerated().map { number, part in
            (number == 0 ? first : "") + style.level(part, of: server) + (number == parts.count - 1 ? mark : "")
        }
    }

    /// The lines of `watch` for an event; none for events that `watch` does not show.
    ///
    /// A snapshot with `isSwitch` is marked as a selection: the selection moved while the reader was behind.
    static func lines(for event: Event, isSwitch: Bool = false, style: Style) -> [String] {
        switch event.kind {
        case .alive: return []
        case .gap: return [style.faint("-- \(event.missed.map(String.init) ?? "some") events missed")]
        case .snapshot where !isSwitch:
            return (event.servers ?? event.server.map { [$0] })?.map { line($0, style) } ?? [none(style)]
        case .selected, .snapshot:
            guard let server = event.server else { return [none(style)] }
            return [style.faint("-- selected ") + line(server, style)]
        case .silenced:
            guard let server = event.server, let silence = server.silence else { return [] }
            return [style.faint("-- silenced ") + "\(server.name) " + Self.silence(silence)]
        case .unsilenced: return event.server.map { [style.faint("-- no longer silenced ") + $0.name.rawValue] } ?? []
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

    /// A line without a time, cut to a width: `critical  disk: 97 % full`.
    static func shortLine(_ server: ServerState, _ style: Style, width: Int) -> String {
        let word = levelWord(server).fitted(to: 8)
        let text = "\(server.name): \(tableText(server))".cut(to: max(1, width - 10), ellipsis: style.ellipsis)
        return "\(style.level(word, of: server))  \(text)"
    }

    /// The reason why the shown status may not be current; includes “stale” if ``levelWord(_:)`` does not.
    static func reason(for server: ServerState) -> String {
        var reason = server.status == nil ? "" : server.message.map { " (\($0))" } ?? ""
        if isStaleUnsaid(server) { reason += " (stale)" }
        return server.isRestored ? "\(reason) \(beforeRestart)" : reason
    }

    /// `until 06:00:00 by root: new disk`.
    ///
    /// - Parameter user: the name of the user who began it; nil for the number.
    static func silence(_ silence: Silence, by user: String? = nil) -> String {
        let end = silence.until.map { TimeText.short($0) } ?? "it is ok"
        let user = silence.user.map { " by \(user ?? ($0 == 0 ? "root" : "user \($0)"))" } ?? ""
        return "until \(end)\(user)" + (silence.reason.map { ": \($0)" } ?? "")
    }

    /// The mark of a server of whose problems nobody is told.
    private static let silencedMark = " (silenced)"

    /// The mark of a status that the server's source has not confirmed since the daemon's restart.
    private static let beforeRestart = "(before restart)"

    private static func isStaleUnsaid(_ server: ServerState) -> Bool { server.isStale && levelWord(server) != "stale" }

    /// The status in `list`, with the reason if the server is failed.
    static func tableText(_ server: ServerState) -> String {
        let silence = server.silence == nil ? "" : silencedMark
        if server.phase == .failed { return headline(server) + reason(for: server) + silence }
        return (server.isRestored ? "\(headline(server)) \(beforeRestart)" : headline(server)) + silence
    }

    /// The text of the status, or the reason in brackets if there is no status.
    static func headline(_ server: ServerState) -> String {
        server.status == nil ? "(\(server.headline))" : server.headline
    }
}
