// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusSupport

/// Writes what a follower notices as lines for a status bar.
@EventLoop
final class BarWriter {
    /// How long the last line stays while the daemon is away, or before a new server has its first status.
    ///
    /// Most of these waits are shorter, and a bar must not flicker.
    private static let patience = Duration.seconds(1)

    private let terminal: Terminal
    private let form: BarFormat
    private let format: FormatTemplate?
    /// The server that the user named, if any.
    private let server: String?
    private var last: String?
    /// The content to show after ``patience``.
    private var next: BarFormat.Content?
    private var timer: TimerSource?

    init(_ form: BarFormat, _ arguments: ParsedArguments) {
        var terminal = Terminal(isJSON: false, environment: ProcessEnvironment.current)
        terminal.endsWithReader = true
        self.terminal = terminal
        self.form = form
        format = arguments[Options.format]
        server = arguments[Options.anyServer]
    }

    /// Writes a line if the bar has to show something else.
    func write(_ step: EventFollower.Step) throws {
        guard let content = content(step) else { return }
        if last != nil, mayPass(step) {
            next = content
            let timer = try timer ?? TimerSource { [weak self] in self?.showNext() }
            self.timer = timer
            timer.schedule(after: Self.patience)
        } else {
            next = nil
            show(content)
        }
    }

    /// Whether the state that a step reports is usually brief.
    private func mayPass(_ step: EventFollower.Step) -> Bool {
        switch step {
        case .away: true
        case .event(let event): event.kind == .added && event.server?.status == nil
        case .back, .missing, .stillAway: false
        }
    }

    private func showNext() {
        if let next { show(next) }
        next = nil
    }

    private func show(_ content: BarFormat.Content) {
        let line = form.line(content)
        guard line != last else { return }
        last = line
        terminal.line(line)
    }

    private func content(_ step: EventFollower.Step) -> BarFormat.Content? {
        switch step {
        case .event(let event): content(event)
        case .away(let reason, let isRefusal):
            .init(text: form.escape(absence(reason, isRefusal)), state: "disconnected", details: [reason])
        case .stillAway(let advice):
            .init(text: form.escape(absence(advice, false)), state: "disconnected", details: [advice])
        case .missing(let name):
            .init(
                text: form.escape("\(name): no such server"), state: "missing", details: ["waiting for its first post"])
        // The next event has the server's status.
        case .back: nil
        }
    }

    /// `statusd is away`, or why it refuses, in a few words.
    private func absence(_ reason: String, _ isRefusal: Bool) -> String {
        let text = isRefusal ? "statusd: \(reason.prefix { $0 != ";" })" : "statusd is away"
        return server.map { "\($0): \(text)" } ?? text
    }

    private func content(_ event: Event) -> BarFormat.Content? {
        switch event.kind {
        case .gap, .alive, .refreshing, .refreshed: return nil
        case .removed:
            let name = event.server?.name.rawValue ?? ""
            return .init(
                text: form.escape("\(name): removed"), state: "missing", details: ["waiting for its next post"])
        case .snapshot, .selected, .changed, .updated, .silenced, .unsilenced, .added:
            guard let server = event.server else {
                return .init(text: "no server selected", state: "none", details: ["statusctl select NAME"])
            }
            return content(server)
        }
    }

    private func content(_ server: ServerState) -> BarFormat.Content {
        let text =
            format.map { $0.text(server, escape: form.escapeField) }
            ?? form.escape("\(server.name): \(server.markedHeadline)")
        let plain = Style(isTerminal: false, environment: ["SYSTEMD_COLORS": "0", "LANG": "C.UTF-8"])
        let details = ServerText.details(server, style: plain, width: nil, now: nil)
        return .init(text: text, state: ServerText.stateWord(server), details: details)
    }
}
