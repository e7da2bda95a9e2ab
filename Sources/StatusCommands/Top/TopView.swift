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

    var columns: TopColumns { TopColumns(width: size.width) }

    /// The number of servers for which there is room.
    private func visibleRows(_ model: TopModel) -> Int {
        switch model.page {
        case .list: max(1, bodyHeight(model) - 1 - changesHeight(model))
        case .details, .help: max(1, bodyHeight(model))
        }
    }

    /// The rows between the title and the last lines.
    func bodyHeight(_ model: TopModel) -> Int { max(0, size.height - 1 - lastLines(model).count) }

    /// The rows for the last changes below the list, with their title: as many as there are, in what the list does not
    /// need, but at most half of the screen; none if that is low, or the details are beside the list.
    ///
    /// Until the changes of the next server are read, the height stays.
    private func changesHeight(_ model: TopModel) -> Int {
        if size.height < 12 || model.lastCount == 0 || columns.details > 0 { return 0 }
        let free = bodyHeight(model) - 1 - model.shown.count
        let room = max(min(Self.changesBelowLongList, size.height / 3) + 1, min(free, size.height / 2))
        return min(room, model.lastCount + 1)
    }

    /// The lines, as many as the terminal has rows.
    func lines(_ model: inout TopModel) -> [String] {
        model.columns = columns
        model.strips.room = TopStrips.room(width: columns.list)
        model.place()
        model.visibleRows = visibleRows(model)
        model.scroll()
        // A message may take several lines, because its advice is at its end.
        let room = bodyHeight(model)
        func filled(_ body: [String]) -> [String] {
            body.prefix(room) + Array(repeating: "", count: max(0, room - body.count))
        }
        let body =
            switch model.page {
            case .list where columns.details > 0: beside(filled(list(model)), filled(details(model, columns.details)))
            case .list: filled(list(model))
            case .details: filled(detailsPage(&model))
            case .help: filled(help)
            }
        return [title(model)] + body + lastLines(model)
    }

    /// The lines of the list, with those of the details in the columns beside them.
    private func beside(_ list: [String], _ details: [String]) -> [String] {
        let edge = "\u{1b}[0m\u{1b}[\(columns.list + 2)G" + style.faint(isUTF8 ? "│" : "|") + " "
        return zip(list, details).map { $0 + edge + $1 }
    }

    /// The time until which the statuses are known; several hosts may know them until different times.
    func known(_ model: TopModel) -> Timestamp { model.hasSeveralHosts ? now : model.hosts[0].awaySince ?? now }

    // MARK: List

    private func list(_ model: TopModel) -> [String] {
        let visible = model.visible
        var table = ServerListing(style: style, width: columns.list, placesColumns: true, now: known(model))
        // So the columns do not move while the user moves through the list.
        var widths = model.list.widths
        widths.strip = model.strips.parts
        table.steady = widths
        let text = table.lines(visible.map { row($0, model) }, legend: true)
        var lines = [text[0]]
        for (row, line) in zip(visible, text.dropFirst()) {
            lines.append(self.line(line, of: row, isCurrent: row.id == model.current))
        }
        // On the lowest screen, a server is worth more than the legend.
        if size.height == 3, !model.shown.isEmpty { lines.removeFirst() }
        if model.shown.isEmpty { lines.append(style.faint(cut("  " + emptyNote(model), to: columns.list))) }
        lines += Array(repeating: "", count: max(0, model.visibleRows + 1 - lines.count))
        return lines + lastChanges(model)
    }

    private func row(_ row: TopRow, _ model: TopModel) -> ServerListing.Row {
        let timeline = Timeline(style: style, isUTF8: isUTF8)
        let strip = model.strips[row.id].map { CellText.upright + timeline.cells($0) } ?? ""
        return ServerListing.Row(server: row.server, label: row.label, note: row.note, strip: strip)
    }

    private func emptyNote(_ model: TopModel) -> String {
        if model.hosts.contains(where: { $0.absence != nil }) { return "" }
        return model.count == 0
            ? "no servers yet; “statusctl post NAME TEXT” adds one" : "no server matches “\(model.filter)”"
    }

    /// A line of the table, with the indicator of a refresh between the mark and the name.
    private func line(_ line: String, of row: TopRow, isCurrent: Bool) -> String {
        var text = row.server.isRefreshing ? line.prefix(1) + indicator + line.dropFirst(2) : line
        if row.isAway { text = style.faint(CellText.plain(text)) }
        return isCurrent ? CellText.reversed(text, width: columns.list) : text
    }

    var indicator: String {
        let frames = isUTF8 ? ProgressIndicator.frames : ProgressIndicator.plainFrames
        return frames[frame % frames.count]
    }

    /// The last changes of the current server, below the list.
    private func lastChanges(_ model: TopModel) -> [String] {
        let height = changesHeight(model)
        guard height > 0, let server = model.current, model.currentServer != nil else { return [] }
        return [rule("\(model.label(of: server)): last changes", size.width)]
            + lines(of: model.changes.suffix(height - 1), model, size.width)
    }
}

/// The columns of `top`'s list, and of the details beside it on a wide terminal.
struct TopColumns: Equatable {
    /// Fewer columns have no room for the times of the details on one line.
    private static let leastDetails = 45
    private static let mostDetails = 90
    /// With fewer columns, the list would lose the strips of the last hours.
    private static let leastList = 100
    /// A line with blanks on both sides.
    private static let edge = 3

    let list: Int
    /// 0 if there is no room for the details.
    let details: Int

    init(width: Int) {
        let room = width - Self.leastList - Self.edge
        details = room < Self.leastDetails ? 0 : min(Self.mostDetails, room, max(Self.leastDetails, width * 3 / 8))
        list = details > 0 ? width - details - Self.edge : width
    }
}
