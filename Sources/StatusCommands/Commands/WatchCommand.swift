// SPDX-License-Identifier: Apache-2.0

import Arguments
import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl watch`.
enum WatchCommand {
    private static let updates = Flag("updates", help: "Also show posts that change nothing.")
    private static let noReconnect = Flag("no-reconnect", help: "End if the connection to the daemon is lost.")

    static let command = ClientCommand.make(
        "watch",
        abstract:
            "Follow the selected server, and another one as soon as that is selected; with a name, that server; with --all, every server.",
        discussion: "The current state comes first. An interrupt ends it with exit status 0.",
        parameters: [Options.anyServer, Options.all, updates, noReconnect],
        validate: { arguments throws(InvalidUsage) in
            if arguments[Options.all], arguments[Options.anyServer] != nil {
                throw InvalidUsage("give a server name or --all, not both")
            }
        }, run: watch)

    private static func watch(_ context: ClientCommand.Context) async throws -> ExitStatus {
        for interruption in [SIGINT, SIGTERM] { signal(interruption) { _ in _exit(0) } }
        let reader = await PipeReader()
        defer { withExtendedLifetime(reader) {} }
        var terminal = context.terminal
        terminal.endsWithReader = true
        let arguments = context.arguments
        let reconnects = !arguments[noReconnect]
        var follower = Follower(
            parameters: WatchParameters(
                server: arguments[Options.anyServer], all: arguments[Options.all] ? true : nil,
                updates: arguments[updates] ? true : nil),
            terminal: terminal, address: context.address, onBeginning: context.mayTakeItsTime)
        let daemon = await DaemonReturn(to: context.address)
        var next: MonitorClient? = context.client
        while let client = next {
            do throws(MonitorError) {
                try await follower.follow(client)
            } catch {
                try await follower.goOn(after: error, reconnects: reconnects)
                // On the same connection, so that the daemon's end is noticed.
                if follower.lacksServer { continue }
            }
            next = reconnects ? try await daemon.wait() : nil
        }
        throw VarlinkClientError(.closed, "the daemon ended the stream")
    }
}

/// Shows successive streams as if they were one.
private struct Follower {
    var parameters: WatchParameters
    let terminal: Terminal
    let address: UnixAddress
    /// Whether the daemon disconnected and has not returned.
    private(set) var isAway = false
    /// Whether the daemon returned without the server.
    private(set) var lacksServer = false
    /// Whether the daemon has sent an event.
    private var hasBegun = false
    /// Called when the daemon has sent its first event.
    private let onBeginning: () async -> Void
    /// The revisions of servers that changed after the last snapshot's cursor and are in that snapshot.
    private var snapshotRevisions: [ServerName: Int] = [:]
    /// The selected server whose lines are shown; nil before the first line.
    private var selected: ServerName??

    init(
        parameters: WatchParameters, terminal: Terminal, address: UnixAddress, onBeginning: @escaping () async -> Void
    ) {
        self.parameters = parameters
        self.terminal = terminal
        self.address = address
        self.onBeginning = onBeginning
    }

    mutating func follow(_ client: MonitorClient) async throws(MonitorError) {
        for try await reply in try await client.watch(parameters) {
            // Not before the first event: a daemon that is stopping may still accept connections.
            await reconnected()
            lacksServer = false
            // The next stream continues here if this one breaks.
            parameters.since = reply.event.cursor
            if !isInSnapshot(reply.event) { show(reply.event) }
        }
    }

    /// Handles the failure of a stream; returns if another stream must follow.
    mutating func goOn(after error: MonitorError, reconnects: Bool) async throws {
        switch error {
        case .connection(let error) where error.isConnectionLoss && reconnects: disconnected(error)
        // A server that is not configured returns with its next post.
        case .noSuchServer(let name, _) where isAway || lacksServer: try await wait(for: name)
        // Other clients of this user have taken all connections; try again as if the daemon were away.
        case _ where error.isConnectionLimit && isAway: break
        default: throw error
        }
    }

    private mutating func disconnected(_ error: VarlinkClientError) {
        lacksServer = false
        guard !isAway else { return }
        isAway = true
        let what = error.code == .timedOut ? "does not answer" : hasBegun ? "disconnected" : "closed the connection"
        let advice = hasBegun ? "waiting for it to return" : "waiting for it; see \(address.daemonLog)"
        terminal.note("the daemon \(what); \(advice)")
        if terminal.isJSON { terminal.json { $0.member("kind", "disconnected") } }
    }

    private mutating func wait(for server: String) async throws {
        if !lacksServer {
            await reconnected()
            terminal.note("it has no server “\(VisibleText.escape(server))”; waiting for it")
            lacksServer = true
        }
        try await EventLoop.sleep(for: .seconds(1))
    }

    private mutating func reconnected() async {
        if !hasBegun { await onBeginning() }
        defer { hasBegun = true }
        guard isAway else { return }
        isAway = false
        terminal.note(hasBegun ? "the daemon is back" : "the daemon is running")
        if terminal.isJSON { terminal.json { $0.member("kind", "reconnected") } }
    }

    /// Whether the last snapshot showed the state of an event, or a newer one.
    ///
    /// A stream that continues after the start of a snapshot repeats events that the snapshot already includes.
    private mutating func isInSnapshot(_ event: Event) -> Bool {
        if let servers = event.servers {
            let newer = servers.filter { $0.revision > event.cursor.revision }
            snapshotRevisions = Dictionary(newer.map { ($0.name, $0.revision) }) { $1 }
        }
        guard let server = event.server, let shown = snapshotRevisions[server.name] else { return false }
        // Always show a selection and every event after it, so that the newest state comes last.
        if event.kind == .selected { snapshotRevisions[server.name] = nil }
        return event.kind != .selected && server.revision <= shown
    }

    private mutating func show(_ event: Event) {
        if terminal.isJSON { return terminal.json(event) }
        let isSwitch = event.kind == .snapshot && selected.map { $0 != event.server?.name } ?? false
        if parameters.server == nil, parameters.all == nil, event.kind == .snapshot || event.kind == .selected {
            selected = .some(event.server?.name)
        }
        for line in ServerText.lines(for: event, isSwitch: isSwitch, style: terminal.style) { terminal.line(line) }
    }
}
