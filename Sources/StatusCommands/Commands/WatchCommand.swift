// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

enum WatchCommand {
    private static let updates = Flag("updates", help: "Also show posts that change nothing.")
    private static let noReconnect = Flag("no-reconnect", help: "End if the connection to the daemon is lost.")
    private static let output = Option<BarFormat?>(
        "output", value: "FORMAT", help: "Write lines for a status bar: waybar, i3blocks, polybar, tmux or plain.",
        default: nil, completion: .words(BarFormat.allCases.map(\.rawValue))
    ) { text throws(InvalidValue) in
        guard let format = BarFormat(rawValue: text) else {
            throw InvalidValue("must be waybar, i3blocks, polybar, tmux or plain")
        }
        return format
    }

    static let command = ClientCommand.make(
        "watch",
        abstract: "Follow the selected server, one server, or all.",
        discussion:
            """
            Without a name, it follows the selected server, and another one as soon as that is selected. The current \
            state comes first. An interrupt ends it with exit status 0. With --output, it continues until then, \
            whatever happens to the daemon.
            """,
        parameters: [Options.anyServer, Options.all, updates, noReconnect, output, Options.format],
        statuses: [.noSuchServer],
        beforeConnecting: { arguments in
            guard let format = arguments[output] else { return nil }
            try await follow(arguments, with: await BarWriter(format, arguments))
        }, validate: validate, run: watch)

    private static func validate(_ arguments: ParsedArguments) throws(InvalidUsage) {
        if arguments[Options.all], arguments[Options.anyServer] != nil {
            throw InvalidUsage("give a server name or --all, not both")
        }
        try Options.checkFormat(arguments)
        guard arguments[output] != nil else { return }
        if arguments[Options.all] { throw InvalidUsage("give --output or --all, not both: a bar shows one server") }
        if arguments[noReconnect] { throw InvalidUsage("give --output or --no-reconnect, not both") }
        if arguments[Options.json] { throw InvalidUsage("give --output or --json, not both") }
    }

    private static func parameters(_ arguments: ParsedArguments) -> MonitorInterface.WatchParameters {
        MonitorInterface.WatchParameters(
            server: arguments[Options.anyServer], all: arguments[Options.all] ? true : nil,
            updates: arguments[updates] ? true : nil)
    }

    private static func watch(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let reader = await PipeReader.withInterrupt()
        defer { withExtendedLifetime(reader) {} }
        let arguments = context.arguments
        var terminal = context.terminal
        terminal.endsWithReader = true
        var writer = EventWriter(
            terminal, format: arguments[Options.format],
            followsSelection: arguments[Options.anyServer] == nil && !arguments[Options.all])
        var follower = EventFollower(
            parameters(arguments), at: context.address, arguments[noReconnect] ? .none : .unlimited,
            continuing: context.client)
        try await follower.run { step in
            if case .event = step { await context.mayTakeItsTime() }
            writer.write(step)
        }
    }

    /// Writes lines for a status bar, whatever happens to the daemon.
    private static func follow(_ arguments: ParsedArguments, with writer: BarWriter) async throws -> Never {
        let reader = await PipeReader.withInterrupt()
        defer { withExtendedLifetime(reader) {} }
        var follower = EventFollower(
            parameters(arguments), at: try Options.daemon(arguments), .whateverFails, resumes: false)
        try await follower.run { try await writer.write($0) }
    }
}

/// Writes what a follower notices as lines, as JSON, or in the user's format.
private struct EventWriter {
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
        case .missing(let server): terminal.note("it has no server “\(VisibleText.escape(server))”; waiting for it")
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
        case .silenced, .unsilenced, .refreshing, .refreshed, .removed, .gap, .alive: break
        }
    }
}
