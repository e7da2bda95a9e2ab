// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusInterface
import StatusModel
import StatusSupport

enum PostCommand {
    private static let name = Options.serverName(
        completion: .servers { [PushSettings.key, NotifySettings.key].contains($0.source) })
    private static let text = Argument<String>.required("text", help: "The text: one line of at most 1024 bytes.") {
        $0
    }
    private static let level = Options.level(help: "The level: ok, warning, critical or unknown (default: ok).")

    static let command = ClientCommand.make(
        "post", abstract: "Post the status of a server.", parameters: [name, text, level],
        statuses: [.noSuchServer], mayBeRepeated: true,
        isChange: true
    ) { context in
        let arguments = context.arguments
        let reply: MonitorInterface.PostReply
        do {
            reply = try await context.client.post(
                server: arguments[name], text: arguments[text], level: arguments[level] ?? .ok)
        } catch MonitorError.limitReached("message", _) where arguments[text].utf8.count > StatusText.maximumLength {
            // A higher limit of messages would not help.
            throw MonitorError.invalidStatus(reason: "\(InvalidStatus.tooLong(arguments[text].utf8.count))")
        }
        if context.terminal.isJSON { context.terminal.json(reply) }
        return .done
    }
}
