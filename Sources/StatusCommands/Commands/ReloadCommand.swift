// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface

/// The command `statusctl reload`.
enum ReloadCommand {
    static let command = ClientCommand.make(
        "reload", abstract: "Have the daemon read its configuration again; returns when it has.", mayBeRepeated: true
    ) { context in
        let reply = try await context.client.reload()
        if context.terminal.isJSON { context.terminal.json(reply) }
        for warning in reply.warnings { context.terminal.remark("warning: \(warning)") }
        for failure in reply.failed { context.terminal.remark("\(failure)") }
        guard !reply.failed.isEmpty else { return .done }
        context.terminal.remark("the rest of the configuration took effect")
        return .configurationWrong
    }
}
