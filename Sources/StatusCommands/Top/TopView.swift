// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// The lines of `top`'s screen.
struct TopView {
    /// The row of the first server: a title and the legend are above it.
    static let firstRow = 2
    /// The rows for the last changes below a list that needs all others.
    private static let changesBelowLongList = 8

    let style: Style
    let isUTF8: Bool
    let size: Screen.Size
    let now: Timestamp
    /// The daemon and its host, for the title.
    let place: String
    /// The number of the frame, which moves the indicator of refreshes.
    let frame: Int
    /// Names of users by number.
    let users: (UInt32) -> String

    /// The number of servers for which there is room.
    private func visibleRows(_ model: TopModel) -> Int {
        switch model.page {
        case .list: max(1, bodyHeight(model) - 1 - paneHeight(model))
        case .details, .help: max(1, bodyHeight(model))
        }
    }

    /// The rows between the title and the last lines.
    private func bodyHeight(_ model: TopModel) -> Int { max(0, size.height - 1 - lastLines(model).count) }

    /// The rows for the last changes, with their title: as many as there are, in what the list does not need, but at
    /// most half of the screen; none if that is low.
    ///
    /// Until the changes of the next server are read, the height stays.
    private func paneHeight(_ model: TopModel) -> Int {
        if size.height < 12 || model.lastCount == 0 { return 0 }
        let free = bodyHeight(model) - 1 - model.shown.count
        let room = max(min(Self.changesBelowLongList, size.height / 3) + 1, min(free, size.height / 2))
        return min(room, model.lastCount + 1)
    }

    /// The lines, as many as the terminal has rows.
    func lines(_ model: inout TopModel) -> [String] {
        model.strips.room = TopStrips.room(width: size.width)
        model.place()
        model.visibleRows = visibleRows(model)
        model.scroll()
        let body =
            switch model.page {
            case .list: list(model)
            case .details: details(&model)
            case .help: help
            }
        // A message may take several lines, because its advice is at its end.
        let room = bodyHeight(model)
        let filled = body.prefix(room) + Array(repeating: "", count: max(0, room - body.count))
        return [title(model)] + filled + lastLines(model)
    }

    // MARK: List

    private func list(_ model: TopModel) -> [String] {
        let shown = model.shown
        let visible = model.visible
        var table = ServerListing(style: style, width: size.width, placesColumns: true, now: now)
        // So the columns do not move while the user moves through the list.
        table.steady = ServerListing.SteadyWidths(shown, strip: model.strips.parts)
        let timeline = Timeline(style: style, isUTF8: isUTF8)
        let rows = visible.map { server in
            ServerListing.Row(
                server: server, strip: model.strips[server.name].map { CellText.upright + timeline.cells($0) } ?? "")
        }
        let text = table.lines(rows, legend: true)
        var lines = [text[0]]
        for (server, line) in zip(visible, text.dropFirst()) {
            let mark = server.isRefreshing ? indicator : ""
            lines.append(row(line, mark, isCurrent: server.name == model.current, model))
        }
        // On the lowest screen, a server is worth more than the legend.
        if size.height == 3, !shown.isEmpty { lines.removeFirst() }
        if shown.isEmpty { lines.append(style.faint(cut("  " + emptyNote(model)))) }
        lines += Array(repeating: "", count: max(0, model.visibleRows + 1 - lines.count))
        return lines + pane(model)
    }

    private func emptyNote(_ model: TopModel) -> String {
        if model.absence != nil { return "" }
        return model.board.servers.isEmpty
            ? "no servers yet; “statusctl post NAME TEXT” adds one" : "no server matches “\(model.filter)”"
    }

    /// A row of the table, with the indicator of a refresh between the mark and the name.
    private func row(_ line: String, _ mark: String, isCurrent: Bool, _ model: TopModel) -> String {
        var text = mark.isEmpty ? line : line.prefix(1) + mark + line.dropFirst(2)
        if model.absence != nil { text = style.faint(CellText.plain(text)) }
        return isCurrent ? CellText.reversed(text, width: size.width) : text
    }

    private var indicator: String {
        let frames = isUTF8 ? ProgressIndicator.frames : ProgressIndicator.plainFrames
        return frames[frame % frames.count]
    }

    /// The last changes of the current server.
    private func pane(_ model: TopModel) -> [String] {
        let height = paneHeight(model)
        guard height > 0, let server = model.currentServer else { return [] }
        return [rule("\(server.name): last changes")] + lines(of: model.changes.suffix(height - 1))
    }

    private func lines(of changes: some Sequence<Change>) -> [String] {
        let text = ChangeText(style: style, width: size.width, namesServers: false)
        return changes.map { text.line($0, user: $0.user.map(users), now: now) }
    }

    private func rule(_ text: String) -> String {
        let dash = isUTF8 ? "─" : "-"
        let start = cut("\(dash)\(dash) \(text) ")
        return style.faint(start + String(repeating: dash, count: max(0, size.width - start.displayWidth)))
    }

    // MARK: Details

    private func details(_ model: inout TopModel) -> [String] {
        guard var server = model.currentServer else { return [style.faint("the server was removed")] }
        server.check = model.check
        let refreshing = server.isRefreshing ? [style.faint("\(indicator) refreshing")] : []
        // The newest change comes first, because it is the most interesting.
        let lines =
            ServerText.details(server, style: style, width: size.width, now: now) + refreshing
            + ["", rule("history, the newest first")] + lines(of: model.changes.reversed())
        model.limitDetails(to: lines.count - bodyHeight(model))
        return Array(lines.dropFirst(model.detailsOffset))
    }

    // MARK: Edges

    private func title(_ model: TopModel) -> String {
        let servers = model.board.servers
        let total = "\(servers.count) \(servers.count == 1 ? "server" : "servers")"
        let counts = [Level.critical, .unknown, .warning].compactMap { level in
            let count = servers.count { $0.countedLevel == level }
            return count > 0 ? style.level("\(count) \(level.rawValue)", level) : nil
        }
        let place = place.cut(to: max(16, size.width / 3), ellipsis: style.ellipsis)
        if let absence = model.absence {
            let last = CellText.plain(([total] + counts).joined(separator: ", "))
            return style.level(cut("\(place)  \(absence)\(servers.isEmpty ? "" : " (last: \(last))")"), .critical)
        }
        // What is most important stays the longest.
        let name = style.strong(place)
        let variants = [
            [name, total] + counts + [model.order.rawValue], [name, total] + counts, [total] + counts, counts,
        ]
        let lines = variants.filter { !$0.isEmpty }.map { $0.joined(separator: "  ") }
        guard let line = lines.first(where: { CellText.plain($0).displayWidth <= size.width }) else {
            return cut(CellText.plain(lines.last ?? ""))
        }
        let time = TimeText.full(now)
        let gap = size.width - CellText.plain(line).displayWidth - time.count
        return gap < 2 ? line : line + String(repeating: " ", count: gap) + style.faint(time)
    }

    private func lastLines(_ model: TopModel) -> [String] {
        if !model.isTyping, let message = model.message {
            let (all, room) = (message.wrapped(to: size.width), max(1, size.height / 3))
            var lines = Array(all.prefix(room))
            if all.count > room {
                lines[room - 1] = cut(lines[room - 1] + " " + all[room])
            }
            return lines.map { style.level($0, .warning) }
        }
        return [lastLine(model)]
    }

    private func lastLine(_ model: TopModel) -> String {
        let position = position(model)
        let text = model.isTyping ? "/\(model.filter)\(isUTF8 ? "▏" : "_")" : keys(model)
        let line = position.isEmpty ? cut(text) : text.fitted(to: size.width - position.count, ellipsis: style.ellipsis)
        return (model.isTyping ? line : style.faint(line)) + position
    }

    /// Which servers of the list are on the screen, unless all are: `1–12 of 19`.
    private func position(_ model: TopModel) -> String {
        let count = model.visible.count
        guard model.page == .list, count > 0, count < model.board.count else { return "" }
        let first = count == 1 ? "" : "\(model.offset + 1)\(isUTF8 ? "–" : "-")"
        let position = "  \(first)\(model.offset + count) of \(model.shown.count)"
        return position.count > size.width / 2 ? "" : position
    }

    private func keys(_ model: TopModel) -> String {
        let filter = model.filter.isEmpty ? "" : "/\(model.filter)  Esc clears  "
        return switch model.page {
        case .list:
            "? help  q quit  \(filter)Enter details  * select  r refresh  s silence  / filter  o order  n problem"
        case .details: "? help  q quit  Esc back  n problem  * select  r refresh  s silence"
        case .help: "any key goes back  q quit"
        }
    }

    private func cut(_ line: String) -> String { line.cut(to: size.width, ellipsis: style.ellipsis) }

    // MARK: Help

    private static let keys = [
        ("arrow keys, j, k", "move the bar, which is on the first server until then"),
        ("PgUp, PgDn, g, G", "move by a screen, or to the first or the last server"),
        ("n, N", "next or previous problem"),
        ("Enter, click", "show the server's details and history; Esc goes back"),
        ("*", "select the server"),
        ("s", "silence it for 1 h, or end that"),
        ("r", "load its status now"),
        ("/", "show only servers that contain a text; Esc shows all"),
        ("o", "order: worst, name, newest change"),
        ("mouse", "click and wheel; Shift: the terminal's own selection"),
        ("Ctrl-L", "draw everything again"),
        ("q, Ctrl-C", "quit"),
    ]
    private static let notes =
        "*, s and r need permission. A status that is not current is shown as failed, stale or loading. "
        + "statusctl(1) says more."

    /// The keys in a column, or before their meaning if there is no room for one.
    private var help: [String] {
        let isWide = size.width >= 60
        let keys = Self.keys.flatMap { keys, meaning in
            isWide
                ? indented(meaning, by: 22, after: "  \(keys)".fitted(to: 22))
                : indented("\(keys): \(meaning)", by: 4, after: "  ")
        }
        let gap = isWide ? [""] : []
        return gap + keys + gap + indented(Self.notes, by: 2, after: "  ")
    }

    /// The text in as many lines as it needs: the first behind `start`, the others behind as many blanks.
    private func indented(_ text: String, by columns: Int, after start: String) -> [String] {
        text.wrapped(to: size.width - columns).enumerated().map { number, line in
            (number == 0 ? start : String(repeating: " ", count: columns)) + line
        }
    }
}

/// Lines with control sequences for their colours.
enum CellText {
    /// The line without control sequences for colours.
    static func plain(_ line: String) -> String {
        var isInSequence = false
        let scalars = line.unicodeScalars.filter { scalar in
            defer { if isInSequence ? scalar == "m" : scalar == "\u{1b}" { isInSequence.toggle() } }
            return !isInSequence && scalar != "\u{1b}"
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Where the part of a line begins that ``reversed(_:width:)`` leaves as it is.
    static let upright = "\u{1b}[27m"

    /// The line with its background and foreground exchanged in all columns, up to ``upright``.
    static func reversed(_ line: String, width: Int) -> String {
        var isReversed = true
        let sequences = line.split(separator: "\u{1b}", omittingEmptySubsequences: false).map { sequence in
            if sequence.hasPrefix("[27m") { isReversed = false }
            return isReversed && sequence.hasPrefix("[0m") ? "[0;7m" + sequence.dropFirst(3) : sequence
        }
        return "\u{1b}[7m" + String(repeating: " ", count: width) + "\r" + sequences.joined(separator: "\u{1b}")
    }
}
