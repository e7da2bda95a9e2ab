// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// The command `statusctl list`.
enum ListCommand {
    private static let noLegend = Flag("no-legend", help: "Leave out the line with the column names.")
    private static let watch = Flag("watch", help: "Write the list again whenever it has changed, until interrupted.")

    static let command = ClientCommand.make(
        "list", abstract: "List servers; * marks the selected one.",
        parameters: ServerFilter.parameters + [Options.format, noLegend, watch], mayBeRepeated: true,
        severalHosts: true,
        beforeConnecting: { arguments in
            guard arguments[Options.host].count > 1 else { return nil }
            return await HostList(arguments, lines: lines).run()
        },
        validate: { arguments throws(InvalidUsage) in
            try Options.checkFormat(arguments)
            if arguments[watch], arguments[Options.host].count > 1 {
                throw InvalidUsage("give --watch or several hosts, not both")
            }
        }, run: list)

    private static func list(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let (terminal, arguments) = (context.terminal, context.arguments)
        let filter = ServerFilter(arguments)
        if arguments[watch] {
            let reader = await PipeReader.withInterrupt()
            defer { withExtendedLifetime(reader) {} }
            try await ListWatcher(context, filter) { servers, terminal in
                lines(servers.map { ServerListing.Row(server: $0) }, terminal, arguments)
            }.run()
        }
        let all = try await context.client.list().servers
        let servers = all.filter(filter.includes)
        if terminal.isJSON {
            terminal.json { $0.member("servers", servers) }
        } else if all.isEmpty {
            let sudo = context.address == .system && geteuid() != 0 ? "sudo " : ""
            terminal.note(
                """
                no servers yet; run “\(sudo)statusctl init” to follow what this host has, or “statusctl post NAME \
                TEXT”
                """
            )
            await context.warn()
        } else if servers.isEmpty {
            terminal.note("none of the \(all.count) servers matches")
        } else {
            for line in lines(servers.map { ServerListing.Row(server: $0) }, terminal, arguments) {
                terminal.line(line)
            }
        }
        return .done
    }

    private static func lines(
        _ rows: [ServerListing.Row], _ terminal: Terminal, _ arguments: ParsedArguments
    ) -> [String] {
        if let format = arguments[Options.format] { return rows.map { format.text($0.server, host: $0.host) } }
        return ServerListing(terminal).lines(rows, legend: !arguments[noLegend])
    }
}
