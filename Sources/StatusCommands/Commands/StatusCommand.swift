// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface
import StatusModel

/// The command `statusctl status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show one server; without a name the selected one.",
        discussion: ExitStatus.table)

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String?

    func run() async throws {
        try await options.perform { client, terminal in
            let server = try await client.describe(name)
            if terminal.isJSON {
                terminal.json(server)
            } else {
                for line in ServerText.details(server, style: terminal.style) { terminal.line(line) }
            }
            if !server.isHealthy { throw ExitCode(ExitStatus.notOK.rawValue) }
        }
    }
}
