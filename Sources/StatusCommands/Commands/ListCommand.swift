// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl list`.
enum ListCommand {
    private static let noLegend = Flag("no-legend", help: "Leave out the line with the column names.")

    static let command = ClientCommand.make(
        "list", abstract: "List all servers; * marks the selected one.", parameters: [noLegend],
        mayBeRepeated: true
    ) { context in
        let terminal = context.terminal
        let servers = try await context.client.list().servers
        if terminal.isJSON {
            terminal.json { $0.member("servers", servers) }
        } else if servers.isEmpty {
            terminal.note("no servers yet")
            await context.warn()
        }
        if terminal.isJSON || servers.isEmpty { return .done }
        let legend = !context.arguments[noLegend]
        for line in ServerText.table(servers, style: terminal.style, width: terminal.width, legend: legend) {
            terminal.line(line)
        }
        return .done
    }
}
