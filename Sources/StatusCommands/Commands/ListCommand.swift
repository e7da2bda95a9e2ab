// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl list`.
enum ListCommand {
    private static let noLegend = Flag("no-legend", help: "Leave out the line with the column names.")

    static let command = ClientCommand.make(
        "list", abstract: "List all servers, or some of them; * marks the selected one.",
        parameters: ServerFilter.parameters + [Options.format, noLegend], mayBeRepeated: true,
        validate: Options.checkFormat
    ) { context in
        let terminal = context.terminal
        let filter = ServerFilter(context.arguments)
        let all = try await context.client.list().servers
        let servers = all.filter(filter.includes)
        if terminal.isJSON {
            terminal.json { $0.member("servers", servers) }
        } else if all.isEmpty {
            terminal.note("no servers yet")
            await context.warn()
        } else if servers.isEmpty {
            terminal.note("none of the \(all.count) servers matches")
        } else {
            for line in lines(servers, context) { terminal.line(line) }
        }
        return .done
    }

    private static func lines(_ servers: [ServerState], _ context: ClientCommand.Context) -> [String] {
        if let format = context.arguments[Options.format] { return servers.map { format.text($0) } }
        let table = ServerTable(context.terminal)
        return table.lines(servers.map { ServerTable.Row(server: $0) }, legend: !context.arguments[noLegend])
    }
}
