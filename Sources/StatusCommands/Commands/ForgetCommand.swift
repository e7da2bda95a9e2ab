// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusInterface
import StatusModel
import StatusSupport

enum ForgetCommand {
    private static let name = Options.serverName(completion: .servers { $0.source == PushSettings.key })

    static let command = ClientCommand.make(
        "forget", abstract: "Remove a server that was added by a post.",
        discussion:
            """
            A server that is configured stays. The next post adds it again if “accept: any” is in effect, which is \
            the default while no configuration file has a setting.
            """,
        parameters: [name], statuses: [.noSuchServer], isChange: true
    ) { context in
        try await context.client.forget(server: context.arguments[name].rawValue)
        if context.terminal.isJSON { context.terminal.json { _ in } }
        return .done
    }
}
