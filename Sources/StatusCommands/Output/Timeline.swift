// SPDX-License-Identifier: Apache-2.0

import StatusModel

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
