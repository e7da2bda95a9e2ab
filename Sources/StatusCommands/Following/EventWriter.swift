// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Varlink

/// Writes what a follower notices as lines, as JSON, or in the user's format.
struct EventWriter {
    private let terminal: Terminal
    private let format: FormatTemplate?
    private let followsSelection: Bool
    /// The selected server whose lines are shown; nil before the first line.
    private var selected: ServerName??

    init(_ terminal: Terminal, format: FormatTemplate?, followsSelection: Bool) {
        self.terminal = terminal
        self.format = format
        self.followsSelection = followsSelection
    }

    mutating func write(_ step: EventFollower.Step) {
        switch step {
        case .event(let event): write(event)
        case .away(let reason, _):
            terminal.note(reason)
            writeKind("disconnected")
        case .stillAway(let advice): terminal.note(advice)
        case .back(let isFirst):
            terminal.note(isFirst ? "the daemon is running" : "the daemon is back")
            writeKind("reconnected")
        case .missing(let server):
            terminal.note("it has no server “\(VisibleText.escape(server))”; waiting for it")
        }
    }

    private func writeKind(_ kind: String) {
        if terminal.isJSON { terminal.json { $0.member("kind", kind) } }
    }

    private mutating func write(_ event: Event) {
        if terminal.isJSON { return terminal.json(event) }
        let isSwitch = event.kind == .snapshot && selected.map { $0 != event.server?.name } ?? false
        if followsSelection, event.kind == .snapshot || event.kind == .selected {
            selected = .some(event.server?.name)
        }
        if let format { return write(event, format) }
        for line in ServerText.lines(for: event, isSwitch: isSwitch, style: terminal.style) { terminal.line(line) }
    }

    /// One line for each state that the event shows.
    private func write(_ event: Event, _ format: FormatTemplate) {
        switch event.kind {
        case .snapshot, .selected, .changed, .updated, .added:
            for server in event.servers ?? event.server.map({ [$0] }) ?? [] { terminal.line(format.text(server)) }
        case .refreshing, .refreshed, .removed, .gap, .alive: break
        }
    }
}
