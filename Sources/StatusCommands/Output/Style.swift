// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// Colours for terminals, unless the user turns them off.
struct Style: Sendable {
    let isColoured: Bool
    /// The end of a text that was cut.
    let ellipsis: String

    /// `SYSTEMD_COLORS` decides, as for systemd's tools, even if there is no terminal; then `NO_COLOR` (no-color.org),
    /// then `TERM`.
    init(isTerminal: Bool, environment: [String: String]) {
        ellipsis = Charset(environment: environment).text("…")
        switch environment["SYSTEMD_COLORS"] {
        case "0", "no", "false", "off": isColoured = false
        case "1", "yes", "true", "on", "16", "256", "24bit": isColoured = true
        case .some: isColoured = isTerminal
        case nil:
            isColoured = isTerminal && environment["NO_COLOR"]?.isEmpty ?? true && environment["TERM"] != "dumb"
        }
    }

    func level(_ text: String, of server: ServerState) -> String {
        if server.phase == .failed || server.countedLevel == .critical { return paint(text, "31") }
        if server.phase == .loading { return faint(text) }
        if server.isStale { return paint(text, "35") }
        return level(text, server.status?.level)
    }

    /// A text in the colour of a level; nil is none.
    func level(_ text: String, _ level: Level?) -> String {
        switch level {
        case .ok: return paint(text, "32")
        case .warning: return paint(text, "33")
        case .critical: return paint(text, "31")
        case .unknown: return paint(text, "35")
        case nil: return faint(text)
        }
    }

    func strong(_ text: String) -> String { paint(text, "1") }

    func faint(_ text: String) -> String { paint(text, "2") }

    private func paint(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
