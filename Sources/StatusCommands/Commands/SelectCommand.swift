// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusSupport

enum SelectCommand {
    private static let none = Flag("none", help: "Clear the selection.")

    static let command = ClientCommand.make(
        "select", abstract: "Select a server, or none.",
        discussion:
            "It returns when the daemon follows the server, and every view shows it. With the name “worst”, the "
            + "selection follows whichever server is the worst.",
        parameters: [Options.anyServer, none], statuses: [.noSuchServer], mayBeRepeated: true, isChange: true,
        validate: { arguments throws(InvalidUsage) in
            guard (arguments[Options.anyServer] == nil) == arguments[none] else {
                throw InvalidUsage("give a server name or --none\(arguments[none] ? ", not both" : "")")
            }
        }
    ) { context in
        let reply = try await context.client.select(server: context.arguments[Options.anyServer])
        if context.terminal.isJSON { context.terminal.json(reply) }
        return .done
    }
}
