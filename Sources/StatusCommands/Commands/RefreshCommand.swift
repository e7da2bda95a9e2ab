// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

enum RefreshCommand {
    /// The maximum number of concurrent loads; each needs a connection.
    private static let concurrentLoads = 32

    private static let all = Flag(
        "all", help: "Refresh all servers that can be refreshed, up to 32 at a time, with a line for each as it ends.")

    private static let verbose = Flag(
        "verbose", help: "Also show what the check ran, what it wrote, its exit status, and how long it took.")

    private static let name = Options.server(completion: .servers(where: \.isRefreshable))

    static let command = ClientCommand.make(
        "refresh", abstract: "Load a server's status now and show it.",
        discussion:
            """
            Without a name, it loads the selected server's. A request made while a load is running shares it. Ctrl-C \
            disconnects; the load is cancelled when the last caller disconnects, unless the server's own schedule \
            waits for it, too.
            """,
        parameters: [name, all, verbose], statuses: [.noSuchServer, .nothingToRefresh],
        validate: { arguments throws(InvalidUsage) in
            if arguments[all], arguments[name] != nil {
                throw InvalidUsage("give a server name or --all, not both")
            }
            if arguments[verbose], arguments[all] { throw InvalidUsage("give --verbose or --all, not both") }
            if arguments[verbose], arguments[Options.json] {
                throw InvalidUsage("give --verbose or --json, not both; “statusctl status --json” has the last check")
            }
        }, run: refresh)

    @EventLoop
    private static func refresh(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let indicator = ProgressIndicator(context.terminal, environment: ProcessEnvironment.current)
        if context.arguments[all] { return try await refreshAll(context, indicator) }
        let name = context.arguments[self.name]
        do { try await context.client.checkAnswers() } catch { throw failure(error, of: name) }
        await context.mayTakeItsTime()
        do {
            let server = try await indicator({ _ in "Refreshing \(name ?? selected)" }) {
                try await refresh(name, on: context.client, context.terminal)
            }
            if let server { context.terminal.line(ServerText.line(server, context.terminal.style)) }
        } catch {
            if context.arguments[verbose] { await showRun(of: name, context) }
            throw error
        }
        if context.arguments[verbose] { await showRun(of: name, context) }
        return .done
    }

    @EventLoop
    private static func showRun(of name: String?, _ context: ClientCommand.Context) async {
        let check = try? await context.client.describe(server: name).server.check
        for line in check.map(ServerText.run) ?? [] { context.terminal.line(line) }
    }

    private static let selected = "the selected server"

    /// Refreshes a server, and writes its events as JSON, or returns its state.
    @EventLoop
    private static func refresh(
        _ name: String?, on client: MonitorClient, _ terminal: Terminal
    ) async throws -> ServerState? {
        do {
            guard terminal.isJSON else { return try await client.refreshed(server: name).server }
            for try await reply in try client.refreshReplies(server: name) { terminal.json(reply.event) }
            return nil
        } catch {
            throw failure(error, of: name)
        }
    }

    /// The error of a refresh, with advice if the daemon closed the connection.
    private static func failure(_ error: any Error, of name: String?) -> any Error {
        guard case .connection(let lost) = error as? MonitorError, lost.code == .closed else { return error }
        let sentence =
            "cannot refresh \(name ?? selected): the daemon closed the connection; try again when it is running"
        return CommandFailure(.noDaemon, "Unavailable", sentence)
    }

    // MARK: All

    @EventLoop
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
        let failures = try await indicator({ "\($0) of \(count) checked" }) {
            await withTaskGroup(of: CommandFailure?.self) { group in
                var failures: [CommandFailure] = []
                var told: Set<String> = []
                @EventLoop func note(_ failure: CommandFailure?) {
                    indicator.done += 1
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
    @EventLoop
    private static func refresh(
        _ name: ServerName, _ context: ClientCommand.Context, _ indicator: ProgressIndicator
    ) async -> CommandFailure? {
        do {
            let client = try await context.address.connect()
            if let server = try await refresh(name.rawValue, on: client, context.terminal) {
                indicator.interrupt { context.terminal.line(ServerText.line(server, context.terminal.style)) }
            }
            return nil
        } catch {
            return CommandFailure(failure(error, of: name.rawValue), address: context.address)
        }
    }
}
