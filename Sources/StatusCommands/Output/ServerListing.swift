// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Servers as a table, with one line for each.
struct ServerListing {
    /// A column; its name is the legend's.
    private enum Column: String {
        case mark = ""
        case host = "HOST"
        case server = "SERVER"
        case status = "STATUS"
        case level = "LEVEL"
        case since = "SINCE"
        case age = "AGE"
        case source = "SOURCE"
        case strip = "LAST 12 H"
    }

    /// A server, and the host on which it was asked for; nil if that goes without saying.
    struct Row {
        var host: String?
        var server: ServerState
        /// What is shown instead of the server's name; nil for the name.
        var label: String?
        /// What follows the status.
        var note = ""
        /// The levels of the last hours, as they are drawn.
        var strip = ""

        fileprivate var shownName: String { label ?? server.name.rawValue }
    }

    /// The widths that rows need at most, whether they are on the screen or not.
    struct SteadyWidths {
        private(set) var name = 0
        private(set) var text = 0
        var strip = 0

        mutating func include(name: Int, text: Int) {
            self.name = max(self.name, name)
            // Columns do not move whenever the longest text changes a little.
            self.text = max(self.text, (text + 7) / 8 * 8)
        }

        func union(_ other: SteadyWidths) -> SteadyWidths {
            var widths = self
            (widths.name, widths.text) = (max(name, other.name), max(text, other.text))
            return widths
        }
    }

    private struct Cell {
        var text: String
        var column: Column
        var width: Int
    }

    /// The least room for a status text, if names can be shorter.
    private static let shortestText = 16
    private static let shortestName = 8

    let style: Style
    /// The width of the terminal; nil if nothing is cut or left out.
    let width: Int?
    /// Whether the columns after a text of uncertain width are placed by moving the cursor.
    let placesColumns: Bool
    let now: Timestamp
    /// Widths for a list of which not all rows are shown, so that its columns do not depend on those that are.
    var steady: SteadyWidths?

    init(style: Style, width: Int?, placesColumns: Bool = false, now: Timestamp = TimeText.now) {
        self.style = style
        self.width = width
        self.placesColumns = placesColumns
        self.now = now
    }

    init(_ terminal: Terminal) {
        self.init(style: terminal.style, width: terminal.width, placesColumns: terminal.canMoveCursor)
    }

    func lines(_ rows: [Row], legend: Bool) -> [String] {
        let columns = columns(withHosts: rows.contains { $0.host != nil })
        let texts = rows.map { row in columns.map { text($0, of: row) } }
        let widths = widths(columns, texts)
        func cells(_ texts: [String]) -> [Cell] {
            zip(texts, zip(columns, widths)).map { Cell(text: $0, column: $1.0, width: $1.1) }
        }
        let header = legend ? [style.strong(line(cells(columns.map(\.rawValue)), nil))] : []
        return header + zip(rows, texts).map { line(cells($1), $0.server) }
    }

    // MARK: Columns

    /// The columns for which there is room.
    ///
    /// A pipe has all but the age, which is soon wrong.
    private func columns(withHosts: Bool) -> [Column] {
        let last: [Column] =
            switch width {
            case nil: [.since, .source]
            case let width? where width >= 120: [.since, .age, .source]
            case let width? where width >= 80: [.age, .source]
            case let width? where width >= 50: [.age]
            case .some: []
            }
        let strip: [Column] = steady?.strip ?? 0 > 0 ? [.strip] : []
        return [.mark] + (withHosts ? [.host] : []) + [.server, .status, .level] + last + strip
    }

    /// The widths of the columns; on a terminal, names and texts have so little room that each server has one line.
    private func widths(_ columns: [Column], _ texts: [[String]]) -> [Int] {
        var widths = columns.indices.map { column in
            let widest = texts.map { $0[column].displayWidth }.max() ?? 0
            return max(columns[column].rawValue.count, steadyWidth(columns[column]) ?? widest)
        }
        widths[0] = 1
        guard let width else { return widths }
        let spaces = 2 * columns.count - 3
        func shrink(_ column: Column, to least: Int) {
            guard let index = columns.firstIndex(of: column) else { return }
            let excess = widths.reduce(spaces, +) - width
            widths[index] = min(widths[index], max(widths[index] - max(0, excess), least))
        }
        // One long name must not take the room of all texts, and texts must not take the room of the names, which tell
        // servers apart.
        shrink(.status, to: max(width / 3, Self.shortestText))
        shrink(.server, to: max(width * 3 / 10, Self.shortestName))
        shrink(.status, to: Self.shortestText)
        shrink(.server, to: Self.shortestName)
        shrink(.host, to: Self.shortestName)
        shrink(.status, to: 1)
        shrink(.server, to: 1)
        return widths
    }

    /// The width of a column that does not depend on the rows; nil if it does.
    private func steadyWidth(_ column: Column) -> Int? {
        guard let steady else { return nil }
        switch column {
        case .mark, .host: return nil
        case .server: return steady.name
        case .status: return steady.text
        case .level: return "critical".count
        case .since: return "11-24 14:54".count
        case .age: return "59min 59s".count
        case .source: return "notify".count
        case .strip: return steady.strip
        }
    }

    private func text(_ column: Column, of row: Row) -> String {
        let server = row.server
        switch column {
        case .mark: return server.isSelected ? "*" : ""
        case .host: return row.host ?? ""
        case .server: return row.shownName
        case .status: return ServerText.tableText(server) + row.note
        case .level: return ServerText.levelWord(server)
        case .since: return server.status.map { since($0.levelChangedAt) } ?? "-"
        case .age: return server.status.map { TimeText.age($0.levelChangedAt, now: now) } ?? "-"
        case .source: return server.source
        case .strip: return row.strip
        }
    }

    private func since(_ time: Timestamp) -> String {
        steady == nil ? TimeText.full(time) : TimeText.brief(time, now: now)
    }

    // MARK: Lines

    private func line(_ cells: [Cell], _ server: ServerState?) -> String {
        var line = ""
        var start = 1
        var isCertain = true
        for (index, cell) in cells.enumerated() {
            if index > 0 {
                let gap = index == 1 ? 1 : 2
                start += gap
                line += isCertain || !placesColumns ? String(repeating: " ", count: gap) : "\u{1b}[\(start)G"
            }
            line += painted(cell, isLast: index == cells.count - 1, server)
            start += cell.width
            isCertain = isCertain && cell.text.hasCertainWidth
        }
        return line
    }

    private func painted(_ cell: Cell, isLast: Bool, _ server: ServerState?) -> String {
        if cell.column == .strip { return cell.text }
        let text =
            isLast
            ? cell.text.cut(to: cell.width, ellipsis: style.ellipsis)
            : cell.text.fitted(to: cell.width, ellipsis: style.ellipsis)
        return cell.column == .level ? server.map { style.level(text, of: $0) } ?? text : text
    }
}
