// SPDX-License-Identifier: Apache-2.0

import StatusSupport

// The page with the keys.
extension TopView {
    private static let helpKeys = [
        ("arrow keys, wheel", "move the bar"),
        ("PgUp, PgDn, g, G", "by a screen, or to either end"),
        ("n, N", "next or previous problem"),
        ("Enter, click", "details; Esc goes back"),
        ("*", "select the server"),
        ("s", "silence it for 1 h, or end that"),
        ("r", "load its status now"),
        ("!", "show the command for *, r or s"),
        ("j", "the journal of its unit, or of it"),
        ("/", "show only servers that contain a text; Esc shows all"),
        ("Space", "hide or show members"),
        ("o", "order: worst, name, newest change"),
        ("mouse", "click and wheel; Shift: the terminal's own selection"),
        ("Ctrl-L", "draw everything again"),
        ("q, Ctrl-C", "quit"),
    ]
    private static let helpNotes =
        "*, s and r need permission. A status that is not current is failed, stale or loading. "
        + "statusctl(1) says more."

    /// The keys in a column, or before their meaning if there is no room for one.
    var help: [String] {
        let isWide = size.width >= 60
        let keys = Self.helpKeys.flatMap { keys, meaning in
            isWide
                ? indented(meaning, by: 22, after: "  \(keys)".fitted(to: 22))
                : indented("\(keys): \(meaning)", by: 4, after: "  ")
        }
        let gap = isWide ? [""] : []
        return gap + keys + gap + indented(Self.helpNotes, by: 2, after: "  ")
    }

    /// The text in as many lines as it needs: the first behind `start`, the others behind as many blanks.
    private func indented(_ text: String, by columns: Int, after start: String) -> [String] {
        text.wrapped(to: size.width - columns).enumerated().map { number, line in
            (number == 0 ? start : String(repeating: " ", count: columns)) + line
        }
    }
}
