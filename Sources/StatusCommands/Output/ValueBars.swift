// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// What a check measured as lines: a name, a bar for a value that has a range, the number, and the limits.
struct ValueBars {
    private static let longestName = 24
    private static let longestBar = 16
    private static let shortestBar = 6
    private static let partialBlocks = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    let style: Style
    let isUTF8: Bool
    /// The columns of each line.
    let width: Int

    /// - Parameter worst: the level of the server; nil if it has none. No value is shown as worse, because what the
    ///   limits of a plugin mean is not known.
    func lines(_ values: [MeasuredValue], atWorst worst: Level?) -> [String] {
        func level(_ value: MeasuredValue) -> Level? {
            value.level.map { level in worst.map { level.isWorse(than: $0) ? $0 : level } ?? .ok }
        }
        func problem(_ value: MeasuredValue) -> Level? { level(value) == .ok ? nil : level(value) }
        let nameWidth = min(values.map(\.name.displayWidth).max() ?? 0, Self.longestName, max(6, width / 3))
        let numberWidth = values.map(\.text.displayWidth).max() ?? 0
        let wordWidth = values.map { problem($0).map { $0.rawValue.count + 1 } ?? 0 }.max() ?? 0
        // A bar has brackets, and blanks are between the parts. The word says what the colour of the bar means.
        let room = max(0, min(Self.longestBar, width - nameWidth - numberWidth - wordWidth - 4))
        let hasBars = room >= Self.shortestBar && values.contains { $0.part != nil }
        return values.map { value in
            func painted(_ text: String) -> String { value.level == nil ? text : style.level(text, level(value)) }
            let name = value.name.fitted(to: nameWidth, ellipsis: style.ellipsis)
            let bar = value.part.map { "[\(painted(cells($0, room)))]" } ?? String(repeating: " ", count: room + 2)
            let word = problem(value).map { " \($0.rawValue)" } ?? ""
            let number = painted(value.text.alignedRight(in: numberWidth) + word)
            let used = nameWidth + 1 + (hasBars ? room + 3 : 0) + numberWidth + word.count
            let limits = value.nextLimits.isEmpty ? "" : " (\(value.nextLimits))"
            return "\(name) " + (hasBars ? "\(bar) " : "") + number
                + (used + limits.displayWidth <= width && !limits.isEmpty ? style.faint(limits) : "")
        }
    }

    /// The cells of a part of a whole.
    private func cells(_ part: Double, _ count: Int) -> String {
        // Something is not nothing.
        let eighths = part > 0 ? max(1, Int((part * Double(count * 8)).rounded())) : 0
        let bar =
            isUTF8
            ? String(repeating: "█", count: eighths / 8) + Self.partialBlocks[eighths % 8]
            : String(repeating: "#", count: (eighths + 7) / 8)
        return bar.fitted(to: count)
    }
}

extension MeasuredValue {
    /// The part of the whole that it is, from 0 to 1; nil if it has no range.
    fileprivate var part: Double? { unit == "%" && value.isFinite ? min(max(0, value / 100), 1) : nil }

    /// The level by its limits; nil if it has none.
    ///
    /// Smaller values are worse if the critical limit is the smaller one, as for the days until a certificate expires.
    var level: Level? {
        if warning == nil, critical == nil { return nil }
        let isWorseBelow = critical ?? .infinity < warning ?? -.infinity
        func reaches(_ limit: Double?) -> Bool { limit.map { isWorseBelow ? value <= $0 : value >= $0 } ?? false }
        return reaches(critical) ? .critical : reaches(warning) ? .warning : .ok
    }

    /// The limits that it has not reached, or the last one.
    fileprivate var nextLimits: String {
        switch level {
        case .warning where critical != nil: critical.map { "critical \(Self.text($0, unit))" } ?? ""
        case .warning: warning.map { "from \(Self.text($0, unit))" } ?? ""
        case .critical: critical.map { "from \(Self.text($0, unit))" } ?? ""
        case .ok, .unknown, nil: limits
        }
    }

    /// Its limits in words, such as `warning 85%, critical 95%`; empty if it has none.
    var limits: String {
        [("warning", warning), ("critical", critical)].compactMap { word, limit in
            limit.map { "\(word) \(Self.text($0, unit))" }
        }.joined(separator: ", ")
    }
}
