// SPDX-License-Identifier: Apache-2.0

/// Lines with control sequences for their colours.
enum CellText {
    /// The line without control sequences.
    static func plain(_ line: String) -> String {
        var isInSequence = false
        let scalars = line.unicodeScalars.filter { scalar in
            defer {
                if scalar == "\u{1b}" { isInSequence = true }
                if isInSequence, "A"..."Z" ~= scalar || "a"..."z" ~= scalar { isInSequence = false }
            }
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
