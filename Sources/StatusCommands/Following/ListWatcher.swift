// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// Writes the list again whenever it has changed: in place on a terminal, otherwise below the previous list.
@EventLoop
final class ListWatcher {
    private let context: ClientCommand.Context
    private let filter: ServerFilter
    private var board: ServerBoard
    /// Why the daemon is away; nil while it is not.
    private var absence: String?
    /// The lines of the last list on a terminal.
    private var drawn = 0
    private var last: [String]?

    init(_ context: ClientCommand.Context) {
        self.context = context
        filter = ServerFilter(context.arguments)
        board = ServerBoard(of: filter.scope)
    }

    /// Follows all servers until the user interrupts it.
    func run() async throws -> Never {
        SignalSource.block([SIGWINCH])
        let redrawing = try Redrawing { self.draw() }
        let resized = try SignalSource(SIGWINCH) { _ in redrawing.needsDrawing() }
        // How long ago something was changes each second.
        let clock = try context.terminal.canMoveCursor ? TickingClock { redrawing.needsDrawing() } : nil
        defer { withExtendedLifetime((resized, clock)) {} }
        var follower = EventFollower(
            MonitorInterface.WatchParameters(all: true, host: filter.scope.host, level: filter.scope.level),
            at: context.address, .unlimited, resumes: false, continuing: context.client)
        try await follower.run { step in
            await take(step)
            redrawing.needsDrawing()
        }
    }

    private func take(_ step: EventFollower.Step) async {
        switch step {
        case .event(let event):
            await context.mayTakeItsTime()
            board.apply(event)
        case .away(let reason, _): note(reason, absence: reason)
        case .stillAway(let advice): note(advice, absence: advice)
        case .back: note("the daemon is back", absence: nil)
        case .missing: break
        }
    }

    /// A list that is redrawn in place shows the absence itself.
    private func note(_ text: String, absence: String?) {
        self.absence = absence
        if !context.terminal.canMoveCursor { context.terminal.note(text) }
    }

    // MARK: Writing

    private func draw() {
        var terminal = Terminal(context.arguments)
        terminal.endsWithReader = true
        let servers = board.servers.filter(filter.includes)
        if terminal.canMoveCursor, !terminal.isJSON { return draw(servers, on: terminal) }
        let lines =
            terminal.isJSON
            ? [Terminal.json { $0.object { $0.member("servers", servers) } }] : table(servers, on: terminal)
        guard lines != last else { return }
        // An empty line between two lists.
        if last != nil, !terminal.isJSON { terminal.line("") }
        last = lines
        for line in lines { terminal.line(line) }
    }

    private func table(_ servers: [ServerState], on terminal: Terminal) -> [String] {
        ListCommand.lines(servers.map { ServerListing.Row(server: $0) }, terminal, context.arguments)
    }

    /// How many of the servers are not ok: ` (1 critical, 2 warning)`.
    private static func levels(of servers: some Sequence<ServerState>) -> String {
        let counts = [Level.critical, .unknown, .warning].compactMap { level in
            let count = servers.count { $0.countedLevel == level }
            return count > 0 ? "\(count) \(level.rawValue)" : nil
        }
        return counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
    }

    /// Replaces the lines of the last list, with one write.
    private func draw(_ servers: [ServerState], on terminal: Terminal) {
        ErrorRelay.mute()
        // Below the last line are the cursor, and a reason or later the user's prompt.
        let room = terminal.height.map { $0 - 2 }.flatMap { $0 > 1 ? $0 : nil } ?? .max
        // Of 100,000 servers, only those that fit become lines.
        var lines = table(Array(servers.prefix(room)), on: terminal)
        if board.count == 0, filter.scope.isEmpty {
            lines = ["no servers yet"]
        } else if servers.isEmpty {
            lines = ["no server matches"]
        }
        let count = lines.count + max(0, servers.count - room)
        if count > room {
            let hidden = count - (room - 1)
            lines = lines.prefix(room - 1) + ["… and \(hidden) more\(Self.levels(of: servers.suffix(hidden)))"]
        }
        if let absence { lines.append(terminal.style.faint(absence.cut(to: terminal.width ?? .max))) }
        let up = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
        drawn = lines.count
        terminal.raw(up + lines.map { "\r\($0)\u{1b}[K\n" }.joined() + "\u{1b}[J")
    }
}
