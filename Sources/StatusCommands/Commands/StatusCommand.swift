// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport

enum StatusCommand {
    private static let all = Flag("all", help: "Count all servers by level; a terminal also shows the worst.")
    /// The number of servers that are not ok and are shown with `--all`.
    private static let mostShown = 5

    static let command = ClientCommand.make(
        "status", abstract: "Show servers; without a name, the selected one.",
        discussion: "With several names, the exit status is that of the first server that is not ok.",
        parameters: [Options.servers, all, Options.format], statuses: [.notOK, .noSuchServer], mayBeRepeated: true,
        validate: { arguments throws(InvalidUsage) in
            try Options.checkFormat(arguments)
            guard arguments[all] else { return }
            if !arguments[Options.servers].isEmpty { throw InvalidUsage("give server names or --all, not both") }
            if arguments[Options.format] != nil { throw InvalidUsage("give --format or --all, not both") }
        }
    ) { context in
        if context.arguments[all] { return try await count(context) }
        let names = context.arguments[Options.servers]
        var replies: [Result<MonitorInterface.DescribeReply, CommandFailure>] = []
        // All replies come before the first is written, because the command may be repeated if the daemon restarts.
        for name in names.isEmpty ? [nil] : names.map(Optional.some) {
            replies.append(try await describe(name, context, isOneOfSeveral: names.count > 1))
        }
        var statuses: [ExitStatus] = []
        var hasWritten = false
        for reply in replies {
            switch reply {
            case .failure(let failure):
                context.terminal.failure(failure)
                statuses.append(failure.status)
            case .success(let reply):
                await write(reply, context, isFirst: !hasWritten)
                hasWritten = true
                statuses.append(reply.server.isHealthy ? .done : .notOK)
            }
        }
        context.terminal.warn(replies.lazy.compactMap { try? $0.get().notices }.first)
        return statuses.first { $0 != .done } ?? .done
    }

    /// Shows how all servers are doing.
    private static func count(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let terminal = context.terminal
        let servers = try await context.client.list().servers
        let notices = await context.notices()
        let counts = ServerCounts(servers, notices: notices)
        if terminal.isJSON {
            terminal.json(counts)
        } else if servers.isEmpty {
            terminal.note(ListCommand.emptyNote(context, notices))
        } else {
            terminal.line(counts.line(terminal.style))
            if let width = terminal.width {
                for server in counts.problems.prefix(mostShown) {
                    terminal.line("  " + ServerText.shortLine(server, terminal.style, width: width - 2))
                }
                let rest = counts.problems.count - mostShown
                if rest > 0 { terminal.line("  and \(rest) more; see “statusctl list”") }
            }
        }
        terminal.warn(notices)
        return counts.areWell ? .done : .notOK
    }

    /// Requests a server's state.
    ///
    /// If it is one of several, it need not exist.
    private static func describe(
        _ name: String?, _ context: ClientCommand.Context, isOneOfSeveral: Bool
    ) async throws -> Result<MonitorInterface.DescribeReply, CommandFailure> {
        do throws(MonitorError) {
            return .success(try await context.client.describe(server: name))
        } catch .noSuchServer(let name, let reason) where isOneOfSeveral {
            return .failure(await context.noSuchServer(name, reason: reason))
        } catch .nothingSelected {
            // A daemon that has lost its state has lost the selection.
            await context.warn()
            throw MonitorError.nothingSelected
        }
    }

    private static func write(
        _ reply: MonitorInterface.DescribeReply, _ context: ClientCommand.Context, isFirst: Bool
    ) async {
        let (terminal, server) = (context.terminal, reply.server)
        if terminal.isJSON { return terminal.json(server) }
        if let format = context.arguments[Options.format] { return terminal.line(format.text(server)) }
        if !isFirst { terminal.line("") }
        let users = UserNames(areLocal: context.address.isSocket)
        let silencer = if let user = server.silence?.user { await users.name(of: user) } else { String?.none }
        let details = ServerText.details(
            server, followsWorst: reply.followsWorst ?? false, silencer: silencer, style: terminal.style,
            width: terminal.width)
        for line in details { terminal.line(line) }
    }
}
