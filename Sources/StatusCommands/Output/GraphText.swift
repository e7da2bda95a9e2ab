// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Summaries of the history as graphs: the levels, and below them one value as a line.
///
/// A column of the terminal has two parts of the period, because a braille character has two columns of dots.
struct GraphText {
    /// The width without a terminal.
    private static let widthInPipe = 60
    /// The columns before the graph: a number, a blank, and the axis.
    private static let (labelWidth, margin) = (8, 10)
    /// The lines of the graph of a value.
    private static let height = 6

    let summaries: SummaryText

    private var style: Style { summaries.style }
    private var isUTF8: Bool { summaries.timeline.isUTF8 }

    /// The number of parts that a graph needs on a terminal of this width.
    static func parts(width: Int?) -> Int {
        min(2 * max(1, (width ?? widthInPipe) - margin), SummaryText.mostParts)
    }

    func lines(_ summary: StatusSummary) -> [String] {
        let columns = (summary.buckets.count + 1) / 2
        let levels = (0..<columns).map { column in
            let parts = summary.buckets[(2 * column)..<min(2 * column + 2, summary.buckets.count)]
            return parts.compactMap(\.worst).max { $1.isWorse(than: $0) }
        }
        return [summaries.headline(summary), label("level") + "  " + summaries.timeline.cells(levels)]
            + value(summary, columns) + axis(summary, columns) + summaries.beginning(summary)
    }

    // MARK: The value

    private func value(_ summary: StatusSummary, _ columns: Int) -> [String] {
        let values = summary.buckets.map { bucket in bucket.value.flatMap { $0.isFinite ? $0 : nil } }
        guard let measured = summary.measured, let least = values.compactMap(\.self).min(),
            let most = values.compactMap(\.self).max(),
            let last = summary.buckets.last(where: { $0.value?.isFinite ?? false })
        else { return summaries.wrapped("No numbers were measured in this time.").map { SummaryText.indent + $0 } }
        let text = { MeasuredValue.text($0, measured.unit) }
        let range = text(least) == text(most) ? text(most) : "\(text(least)) to \(text(most))"
        // Not every measurement is kept.
        let time = TimeText.short(last.start, now: summary.until)
        let title = "\(measured.name): \(range) in what is kept; at \(time): \(text(last.value ?? 0))"
        // A difference that the numbers do not show is not drawn.
        let span = text(least) == text(most) ? nil : least...most
        var graph = DotGraph(columns: columns, lines: Self.height)
        graph.draw(values.map { $0.map { value in span.map { Self.part(value, of: $0) } ?? 0.5 } })
        let labels = span == nil ? [Self.height / 2: text(most)] : [0: text(most), Self.height - 1: text(least)]
        let lines = graph.lines(isUTF8: isUTF8).enumerated().map { number, line in
            let label = labels[number]
            let axis = isUTF8 ? label == nil ? "│" : "┤" : label == nil ? "|" : "+"
            return self.label(label ?? "") + style.faint(" " + axis) + line
        }
        return [SummaryText.indent + title.cut(to: max(0, (summaries.width ?? .max) - SummaryText.indent.count))]
            + lines
    }

    /// Where a value is in a range, from 0 to 1, even if the length of the range is not finite.
    private static func part(_ value: Double, of range: ClosedRange<Double>) -> Double {
        (value / 2 - range.lowerBound / 2) / (range.upperBound / 2 - range.lowerBound / 2)
    }

    private func label(_ text: String) -> String {
        style.faint(text.cut(to: Self.labelWidth).alignedRight(in: Self.labelWidth))
    }

    // MARK: The time

    /// The axis of time, and its marks below it.
    private func axis(_ summary: StatusSummary, _ columns: Int) -> [String] {
        let (line, tick, corner) = isUTF8 ? ("─", "┬", "└") : ("-", "+", "+")
        var (axis, words) = ("", "")
        for (column, word) in TimeMarks.marks(summary.since, summary.until, columns: columns) {
            axis += String(repeating: line, count: column - axis.count) + tick
            words += String(repeating: " ", count: max(0, column - words.count)) + word
        }
        axis += String(repeating: line, count: columns - axis.count)
        let margin = String(repeating: " ", count: Self.margin)
        return [margin.dropLast() + corner + axis, margin + words].map { style.faint($0) }
    }
}

/// A line of dots, drawn with braille characters, each of which has two columns of four dots.
struct DotGraph {
    /// The bits of the dots in U+2800 to U+28FF, by column and row.
    private static let bits: [[UInt32]] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]]
    /// Two points are connected unless they are this many times as far apart as their neighbours.
    private static let widestGap = 3

    private var cells: [[UInt32]]
    private var rows: Int { cells.count * 4 }

    init(columns: Int, lines: Int) {
        cells = Array(repeating: Array(repeating: 0, count: columns), count: lines)
    }

    /// Draws a line through points, one for each column of dots, from 0 (bottom) to 1 (top); nil is none.
    mutating func draw(_ points: [Double?]) {
        let points = points.enumerated().compactMap { column, height in
            height.map { (column: column, row: Int(((1 - min(max(0, $0), 1)) * Double(rows - 1)).rounded())) }
        }
        let gaps = zip(points, points.dropFirst()).map { $1.column - $0.column }
        if let first = points.first { set(first.column, first.row) }
        for (index, gap) in gaps.enumerated() {
            let (start, end) = (points[index], points[index + 1])
            let neighbours = [index - 1, index + 1].filter(gaps.indices.contains).map { gaps[$0] }
            guard gap <= Self.widestGap * (neighbours.max() ?? gap) else {
                set(end.column, end.row)
                continue
            }
            var row = start.row
            for step in 1..<(gap + 1) {
                let next = start.row + (end.row - start.row) * step / gap
                // The dots above each other leave no hole in a steep line.
                let isSteep = abs(next - row) > 1
                let from = isSteep ? row + (next > row ? 1 : -1) : next
                for dot in min(from, next)..<(max(from, next) + 1) { set(start.column + step, dot) }
                row = next
            }
        }
    }

    private mutating func set(_ column: Int, _ row: Int) {
        guard cells.indices.contains(row / 4), cells[row / 4].indices.contains(column / 2) else { return }
        cells[row / 4][column / 2] |= Self.bits[column % 2][row % 4]
    }

    /// The lines from the top; in ASCII, a character shows in which half its dots are.
    func lines(isUTF8: Bool) -> [String] {
        cells.map { cells in
            var line = ""
            for cell in cells {
                let (isHigh, isLow) = (cell & 0x1B != 0, cell & 0xE4 != 0)
                if cell == 0 {
                    line += " "
                } else if isUTF8 {
                    line.unicodeScalars.append(Unicode.Scalar(0x2800 | cell) ?? " ")
                } else {
                    line += isHigh ? isLow ? ":" : "'" : "."
                }
            }
            return line
        }
    }
}
