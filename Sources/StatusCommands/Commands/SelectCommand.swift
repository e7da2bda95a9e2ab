// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface

/// The command `statusctl select`.
struct SelectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "select", abstract: "Select a server, or none; returns when the daemon follows it.",
        discussion: ExitStatus.table)

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String?

    @Flag(help: "Select none.")
    var none = false

    func validate() throws {
        guard (name == nil) == none else { throw ValidationError("name a server, or give --none") }
    }

    func run() async throws {
        try await options.perform { client, terminal in
            let reply = try await client.select(name)
            if terminal.isJSON { terminal.json(reply) }
        }
    }
}
