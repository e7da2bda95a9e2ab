// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface
import Varlink

/// The command `statusctl list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all servers, the selected one marked with *.", discussion: ExitStatus.table
    )

    @OptionGroup var options: ClientOptions

    @Flag(help: "Leave out the line with the columns' names.")
    var noLegend = false

    func run() async throws {
        try await options.perform { client, terminal in
            let servers = try await client.list()
            if terminal.isJSON { return terminal.json { $0.member("servers", servers) } }
            if servers.isEmpty { return terminal.remark("there are no servers yet") }
            for line in ServerText.table(servers, style: terminal.style, width: terminal.width, legend: !noLegend) {
                terminal.line(line)
            }
        }
    }
}
