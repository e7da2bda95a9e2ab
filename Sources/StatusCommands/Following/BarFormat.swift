// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Varlink

/// The form of the lines for a status bar.
enum BarFormat: String, CaseIterable, Sendable {
    case waybar, i3blocks, polybar, tmux, plain

    struct Content: Equatable {
        /// The line, with ``BarFormat/escape(_:)`` applied to what comes from servers.
        var text: String
        /// The word of the state: a level, `failed`, `stale`, `loading`, `empty`, `none`, `missing` or `disconnected`.
        var state: String
        /// More lines about it, not escaped.
        var details: [String] = []
    }

    /// Escapes a server's text, so that the bar shows it unchanged.
    func escape(_ text: String) -> String {
        switch self {
        case .waybar: Self.escapePango(text)
        // polybar has no escape for its tags, which begin with “%{”; either half may be at the end of another field.
        case .polybar: text.replacingScalar("%", with: "%\u{200B}").replacingScalar("{", with: "\u{200B}{")
        case .tmux: Self.escapeTmux(text)
        case .i3blocks, .plain: text
        }
    }

    /// Escapes a field within the user's own text, whatever precedes it.
    func escapeField(_ text: String) -> String {
        // A “#” before it must not form a tmux format with it.
        self == .tmux ? "\u{200B}" + escape(text) : escape(text)
    }

    func line(_ content: Content) -> String {
        switch self {
        case .waybar: Self.waybar(content)
        case .i3blocks: Self.i3blocks(content)
        case .polybar: Self.colour(content.state).map { "%{F\($0)}\(content.text)%{F-}" } ?? content.text
        case .tmux: Self.colour(content.state).map { "#[fg=\($0)]\(content.text)#[default]" } ?? content.text
        case .plain: content.text
        }
    }

    /// The line for Waybar's custom module with `return-type: json`.
    private static func waybar(_ content: Content) -> String {
        json { writer in
            writer.member("text", content.text)
            writer.member("alt", content.state)
            writer.member("tooltip", content.details.map(escapePango).joined(separator: "\n"))
            writer.member("class", content.state)
            writer.member("percentage", percentage(content.state))
        }
    }

    /// The line for i3blocks' `format=json`.
    private static func i3blocks(_ content: Content) -> String {
        json { writer in
            // i3blocks 1.4 ends a text at its first quotation mark, escaped or not, and shows a backslash with its
            // escape.
            let text = content.text.replacingScalar("\"", with: "”").replacingScalar("\\", with: "⧵")
            writer.member("full_text", shortened(text))
            writer.member("color", colour(content.state))
        }
    }

    private static func json(_ members: (inout JSONWriter) -> Void) -> String { Terminal.json { $0.object(members) } }

    /// Escapes what tmux expands in the output of a command, and again when it draws.
    ///
    /// Each time, two “#” become one, but not before “[”. So one is written as four, and a zero-width space separates
    /// it from the text that follows.
    private static func escapeTmux(_ text: String) -> String { text.replacingScalar("#", with: "####\u{200B}") }

    /// The maximum size of a text in JSON, in bytes: i3blocks 1.4 cuts longer texts at any byte, and hides lines of
    /// more than 2047.
    private static let longestText = 1000
    /// The part of it that is reserved for the end of the text, where the level is.
    private static let longestEnd = 100

    /// Leaves out the middle of a text that is too long for i3blocks.
    private static func shortened(_ text: String) -> String {
        func beginning(_ characters: some Sequence<Character>, _ limit: Int) -> [Character] {
            var left = limit
            return characters.prefix { character in
                left -= character.utf8.count
                return left >= 0
            }
        }
        if beginning(text, longestText).count == text.count { return text }
        let end = beginning(text.reversed(), longestEnd).reversed()
        return String(beginning(text, longestText - longestEnd - "…".utf8.count)) + "…" + String(end)
    }

    /// Escapes the characters of Pango's markup.
    private static func escapePango(_ text: String) -> String {
        text.replacingScalar("&", with: "&amp;").replacingScalar("<", with: "&lt;").replacingScalar(">", with: "&gt;")
            .replacingScalar("'", with: "&#39;").replacingScalar("\"", with: "&quot;")
    }

    /// The health of a server in percent, for a bar's icons.
    private static func percentage(_ state: String) -> Int {
        switch Level(rawValue: state) {
        case .ok: 100
        case .warning: 66
        case .unknown: 33
        case .critical, nil: 0
        }
    }

    /// The colour of a state that is not ok, readable on dark and on light bars.
    private static func colour(_ state: String) -> String? {
        switch state {
        case "ok": nil
        case "warning": "#e5a50a"
        case "critical", "failed": "#e01b24"
        case "unknown", "stale": "#9141ac"
        default: "#888888"
        }
    }
}

extension String {
    /// The text with each such scalar replaced, even if others combine with it.
    ///
    /// Other programs parse scalars or bytes. A `Character` is a cluster of scalars, so with a combining scalar after
    /// it, this one would not be found.
    func replacingScalar(_ scalar: Unicode.Scalar, with text: String) -> String {
        unicodeScalars.reduce(into: "") { result, next in
            if next == scalar {
                result.unicodeScalars += text.unicodeScalars
            } else {
                result.unicodeScalars.append(next)
            }
        }
    }
}
