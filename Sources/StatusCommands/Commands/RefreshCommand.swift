// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface
import StatusModel
import Systemd
import Varlink

/// The command `statusctl refresh`.
struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Load a server's status now and show it; without a name the selected one.",
        discussion:
            "Who asks while a load runs waits for that one. Ctrl-C leaves; the last one to leave cancels the load.\n\n"
            + ExitStatus.table)

    /// How many loads are waited for at once; each takes a connection.
    private static let sideBySide = 32

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String?

    @Flag(help: "All servers that can be refreshed, side by side, a line each as they end.")
    var all = false

    func validate() throws {
        if all, name != nil { throw ValidationError("name a server, or give --all, not both") }
    }

    func run() async throws {
        try await options.perform { client, terminal in
            let indicator = ProgressIndicator(terminal, environment: ProcessEnvironment.current)
            if all {
                try await refreshAll(of: client, terminal, indicator)
            } else if terminal.isJSON {
                for try await reply in try await client.refreshing(name) { terminal.json(reply.event) }
            } else {
                let name = name
                let event = try await indicator("Refreshing \(name ?? "the selected server")") {
                    try await client.refresh(name)
                }
                if let server = event.server { terminal.line(ServerText.line(server, terminal.style)) }
            }
        }
    }

    // MARK: All

    private func refreshAll(
        of client: MonitorClient, _ terminal: Terminal, _ indicator: ProgressIndicator
    ) async throws {
        let servers = try await client.list().filter(\.isRefreshable)
        if servers.isEmpty { return terminal.remark("there is no server that can be refreshed") }
        let options = options
        let count = servers.count
        let failures = try await indicator("Refreshing \(count) \(count == 1 ? "server" : "servers")") {
            await withTaskGroup(of: CommandFailure?.self) { group in
                var failures: [CommandFailure] = []
                for (number, server) in servers.enumerated() {
                    if number >= Self.sideBySide, let failure = await group.next() ?? nil { failures.append(failure) }
                    group.addTask { await Self.refresh(server.name, options, terminal, indicator) }
                }
                for await failure in group { if let failure { failures.append(failure) } }
                return failures
            }
        }
        // Each has been told.
        if let first = failures.first { throw ExitCode(first.status.rawValue) }
    }

    /// Refreshes one of many, on a connection of its own, and tells at once how that ended.
    private static func refresh(
        _ name: ServerName, _ options: ClientOptions, _ terminal: Terminal, _ indicator: ProgressIndicator
    ) async -> CommandFailure? {
        do {
            let client = try await MonitorClient.connect(to: try options.resolvedAddress())
            if terminal.isJSON {
                for try await reply in try await client.refreshing(name.rawValue) { terminal.json(reply.event) }
            } else {
                let event = try await client.refresh(name.rawValue)
                if let server = event.server {
                    indicator.interrupt { terminal.line(ServerText.line(server, terminal.style)) }
                }
            }
            return nil
        } catch {
            let failure = CommandFailure(error, address: try? options.resolvedAddress())
            indicator.interrupt { terminal.failure(failure) }
            return failure
        }
    }
}
