// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// The command `statusctl refresh`.
enum RefreshCommand {
    /// The maximum number of concurrent loads; each needs a connection.
    private static let concurrentLoads = 32

    private static let all = Flag(
        "all", help: "Refresh all servers that can be refreshed, up to 32 at a time, with a line for each as it ends.")

    private static let name = Options.server(completion: .servers(where: \.isRefreshable))

    static let command = ClientCommand.make(
        "refresh", abstract: "Load a server's status now and show it.",
        discussion:
            """
            Without a name, it loads the selected server's. A request made while a load is running shares it. Ctrl-C \
            disconnects; the load is cancelled when the last caller disconnects, unless the server's own schedule \
            waits for it, too.
            """,
        parameters: [name, all], statuses: [.noSuchServer, .nothingToRefresh],
        validate: { arguments throws(InvalidUsage) in
            if arguments[all], arguments[name] != nil {
                throw InvalidUsage("give a server name or --all, not both")
            }
        }, run: refresh)

    private static func refresh(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let (client, terminal) = (context.client, context.terminal)
        let name = context.arguments[self.name]
        let indicator = ProgressIndicator(terminal, environment: ProcessEnvironment.current)
        if context.arguments[all] { return try await refreshAll(context, indicator) }
        let subject = name ?? "the selected server"
        do {
            try await client.checkAnswers()
            await context.mayTakeItsTime()
            if terminal.isJSON {
                for try await reply in try await client.refreshReplies(server: name) { terminal.json(reply.event) }
            } else {
                let event = try await indicator("Refreshing \(subject)") { try await client.refreshed(server: name) }
                if let server = event.server { terminal.line(ServerText.line(server, terminal.style)) }
            }
        } catch {
            throw failure(error, of: subject)
        }
        return .done
    }

    /// The error of a refresh of `subject`, with advice if the daemon closed the connection.
    private static func failure(_ error: any Error, of subject: String) -> any Error {
        guard case .connection(let lost) = error as? MonitorError, lost.code == .closed else { return error }
        let sentence =
            "cannot refresh \(subject): the daemon closed the connection; try again when it is running"
        return CommandFailure(.noDaemon, "Unavailable", sentence)
    }

    // MARK: All

    private static func refreshAll(
        _ context: ClientCommand.Context, _ indicator: ProgressIndicator
    ) async throws -> ExitStatus {
        let servers = try await context.client.list().servers.filter(\.isRefreshable)
        await context.mayTakeItsTime()
        if servers.isEmpty {
            context.terminal.note("no server can be refreshed")
            return .done
        }
        let count = servers.count
        let failures = try await indicator("Refreshing \(count) \(count == 1 ? "server" : "servers")") {
            await withTaskGroup(of: CommandFailure?.self) { group in
                var failures: [CommandFailure] = []
                var told: Set<String> = []
                func note(_ failure: CommandFailure?) {
                    guard let failure else { return }
                    // A failure of the user or the daemon is the same for all servers.
                    if told.insert(failure.sentence).inserted {
                        indicator.interrupt { context.terminal.failure(failure) }
                    }
                    failures.append(failure)
                }
                for (number, server) in servers.enumerated() {
                    if number >= concurrentLoads, let ended = await group.next() { note(ended) }
                    group.addTask { await refresh(server.name, context, indicator) }
                }
                for await ended in group { note(ended) }
                return failures
            }
        }
        // All failures were written already.
        return failures.first?.status ?? .done
    }

    /// Refreshes one of many servers on its own connection and writes its status; returns the failure, if any.
    private static func refresh(
        _ name: ServerName, _ context: ClientCommand.Context, _ indicator: ProgressIndicator
    ) async -> CommandFailure? {
        let terminal = context.terminal
        do {
            let client = try await context.address.connect()
            if terminal.isJSON {
                for try await reply in try await client.refreshReplies(server: name.rawValue) {
                    terminal.json(reply.event)
                }
            } else {
                let event = try await client.refreshed(server: name.rawValue)
                if let server = event.server {
                    indicator.interrupt { terminal.line(ServerText.line(server, terminal.style)) }
                }
            }
            return nil
        } catch {
            return CommandFailure(failure(error, of: name.rawValue), address: context.address)
        }
    }
}
