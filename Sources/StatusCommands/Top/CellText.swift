// SPDX-License-Identifier: Apache-2.0

import TerminalText

/// Lines with control sequences for their colours.
enum CellText {
    /// The line without control sequences.
    static func plain(_ line: String) -> String { line.replacing(/\u{1b}\[[0-9;]*m/, with: "") }

    /// The line with blanks behind it, so that it has so many columns.
    static func padded(_ line: String, to columns: Int) -> String {
        line + String(repeating: " ", count: max(0, columns - plain(line).displayWidth))
    }

    /// The line with its background and foreground exchanged to the end of the screen.
    static func reversed(_ line: String) -> String {
        let reverse = "\u{1b}[7m"
        return reverse + line.replacing("\u{1b}[0m", with: "\u{1b}[0;7m") + reverse
    }
}
