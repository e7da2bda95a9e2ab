// SPDX-License-Identifier: Apache-2.0

import Arguments
import EventLoopIO
import StatusInterface
import StatusModel

/// Writes what a follower notices as lines for a status bar.
struct BarWriter {
    private let terminal: Terminal
    private let form: BarFormat
    private let format: FormatTemplate?
    private var last: BarFormat.Content?

    init(_ form: BarFormat, _ arguments: ParsedArguments) {
        var terminal = Terminal(isJSON: false, environment: ProcessEnvironment.current)
        terminal.endsWithReader = true
        self.terminal = terminal
        self.form = form
        format = arguments[Options.format]
    }

    /// Writes a line if the bar has to show something else.
    mutating func write(_ step: EventFollower.Step) {
        guard let content = content(step), content != last else { return }
        last = content
        terminal.line(form.line(content))
    }

    private func content(_ step: EventFollower.Step) -> BarFormat.Content? {
        switch step {
        case .event(let event): content(event)
        case .away(let reason): .init(text: "statusd is away", state: "disconnected", details: [reason])
        case .missing(let name):
            .init(
                text: form.escape("\(name): no such server"), state: "missing", details: ["waiting for its first post"])
        // The next event says how the server is.
        case .back: nil
        }
    }

    private func content(_ event: Event) -> BarFormat.Content? {
        switch event.kind {
        case .gap, .alive, .refreshing, .refreshed: return nil
        case .removed:
            let name = event.server?.name.rawValue ?? ""
            return .init(text: form.escape("\(name): removed"), state: "missing")
        case .snapshot, .selected, .changed, .updated, .added:
            guard let server = event.server else {
                return .init(text: "no server selected", state: "none", details: ["statusctl select NAME"])
            }
            return content(server)
        }
    }

    private func content(_ server: ServerState) -> BarFormat.Content {
        let word = ServerText.levelWord(server)
        let text =
            format.map { $0.text(server, escape: form.escape) }
            ?? form.escape("\(server.name): \(server.markedHeadline)")
        let plain = Style(isTerminal: false, environment: ["SYSTEMD_COLORS": "0", "LANG": "C.UTF-8"])
        let details = ServerText.details(server, style: plain, width: nil, now: nil)
        return .init(text: text, state: word == "-" ? server.phase.rawValue : word, details: details)
    }
}
