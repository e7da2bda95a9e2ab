// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Summaries of the history as lines for people.
struct SummaryText {
    /// The number of parts without a terminal.
    static let partsInPipe = 60
    static let indent = "  "
    private static let rows: [(word: String, level: Level?)] = [
        ("ok", .ok), ("warning", .warning), ("unknown", .unknown), ("critical", .critical), ("no status", nil),
    ]

    let style: Style
    let timeline: Timeline
    /// The width of the terminal; nil if lines may have any length.
    let width: Int?

    init(style: Style, isUTF8: Bool, width: Int?) {
        self.style = style
        self.width = width
        timeline = Timeline(style: style, isUTF8: isUTF8)
    }

    /// The most parts of a period.
    static let mostParts = 1000

    /// The number of parts whose cells fit on a line of a terminal.
    static func parts(width: Int?) -> Int { width.map { min(max(1, $0 - indent.count), mostParts) } ?? partsInPipe }

    func lines(_ summary: StatusSummary) -> [String] {
        [headline(summary)] + rows(summary.times).map { Self.indent + $0 } + [
            Self.indent + timeline.cells(summary.buckets.map(\.worst))
        ] + ends(summary).map { Self.indent + style.faint($0) } + beginning(summary)
    }

    /// Why a part of the period has no status, if the history does not reach back so far.
    func beginning(_ summary: StatusSummary) -> [String] {
        guard let time = summary.knownSince else { return [] }
        let begin = TimeText.full(time)
        return wrapped("The history begins at \(begin); before, nothing is known.").map { Self.indent + $0 }
    }

    /// The last lines, for all servers.
    var legend: [String] {
        var lines: [(text: String, columns: Int)] = []
        for (item, columns) in timeline.legend {
            if let last = lines.last, Self.indent.count + last.columns + 2 + columns <= width ?? .max {
                lines[lines.count - 1] = (last.text + "  " + item, last.columns + 2 + columns)
            } else {
                lines.append((item, columns))
            }
        }
        return lines.map { Self.indent + $0.text }
    }

    func wrapped(_ text: String) -> [String] {
        width.map { text.wrapped(to: $0 - Self.indent.count) } ?? [text]
    }

    func headline(_ summary: StatusSummary) -> String {
        let (times, count) = (summary.times, summary.changes)
        let changes = count == 0 ? "no changes" : count == 1 ? "1 change" : "\(count) changes"
        let part = Percent.short(times.ok + times.warning, of: times.known)
        let availability = times.availability == nil ? "no status" : "\(part) available"
        return "\(style.strong(summary.server.rawValue)): \(availability), \(changes)"
    }

    /// A row for each level that the server had.
    private func rows(_ times: LevelTimes) -> [String] {
        let whole = times.known + times.none
        let rows = Self.rows.filter { times[$0.level] > 0 }.map { word, level in
            (word, level, ChangeText.span(times[level]), Percent.column(times[level], of: whole))
        }
        let (spanWidth, partWidth) = (rows.map(\.2.count).max() ?? 0, rows.map(\.3.count).max() ?? 0)
        return rows.map { word, level, span, part in
            style.level(word.fitted(to: 9), level) + "  " + span.alignedRight(in: spanWidth) + "  "
                + part.alignedRight(in: partWidth)
        }
    }

    /// The ends of the period, below the first and the last cell.
    private func ends(_ summary: StatusSummary) -> [String] {
        let (since, until) = (TimeText.full(summary.since), TimeText.full(summary.until))
        let gap = summary.buckets.count - since.count - until.count
        return gap < 1 ? wrapped("\(since) to \(until)") : [since + String(repeating: " ", count: gap) + until]
    }
}

/// Percentages with three decimals.
enum Percent {
    /// The part in thousandths of a percent, rounded; only all of it is 100 %, and only nothing is 0 %.
    static func thousandths(_ part: Int, of whole: Int) -> Int {
        if part <= 0 || whole <= 0 { return 0 }
        if part >= whole { return 100_000 }
        let rounded = Int((Double(part) / Double(whole) * 100_000).rounded())
        return min(max(1, rounded), 99_999)
    }

    /// With three decimals, for columns: `97.500 %`.
    static func column(_ part: Int, of whole: Int) -> String {
        let value = thousandths(part, of: whole)
        let decimals = String(value % 1000)
        return "\(value / 1000).\(String(repeating: "0", count: 3 - decimals.count))\(decimals) %"
    }

    /// With as many decimals as it needs: `97.5 %`.
    static func short(_ part: Int, of whole: Int) -> String {
        var text = String(column(part, of: whole).dropLast(2))
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return "\(text) %"
    }
}

/// A line with one cell for each part of a period, by the worst level in it.
///
/// The worse a level is, the taller is its cell, so that it can be read without colour.
struct Timeline {
    private static let levels: [Level?] = [.ok, .warning, .unknown, .critical]

    let style: Style
    /// Whether the locale's charset is UTF-8; otherwise all cells are ASCII.
    let isUTF8: Bool

    /// The cells of some parts.
    func cells(_ levels: [Level?]) -> String {
        var line = ""
        var rest = levels[...]
        while let level = rest.first {
            let run = rest.prefix { $0 == level }
            rest = rest.dropFirst(run.count)
            let cells = String(repeating: glyph(level), count: run.count)
            line += level == nil ? cells : style.level(cells, level)
        }
        return line
    }

    /// What the cells mean: texts with their columns.
    var legend: [(text: String, columns: Int)] {
        let levels = Self.levels.map { level in
            let word = level?.rawValue ?? ""
            return (text: "\(style.level(glyph(level), level)) \(word)", columns: 2 + word.count)
        }
        let blank = "blank: no status"
        return levels + [(blank, blank.count)]
    }

    private func glyph(_ level: Level?) -> String {
        switch level {
        case .ok: isUTF8 ? "▁" : "."
        case .warning: isUTF8 ? "▄" : "!"
        case .unknown: isUTF8 ? "▒" : "?"
        case .critical: isUTF8 ? "█" : "#"
        case nil: " "
        }
    }
}
