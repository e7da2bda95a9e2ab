// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import StatusModel

/// The command `statusctl status`.
enum StatusCommand {
    static let command = ClientCommand.make(
        "status", abstract: "Show one server; without a name, the selected one.", parameters: [Options.anyServer],
        mayBeRepeated: true
    ) { context in
        let terminal = context.terminal
        let reply: DescribeReply
        do throws(MonitorError) {
            reply = try await context.client.describe(server: context.arguments[Options.anyServer])
        } catch {
            // Whoever has lost the state has lost the selection.
            if case .nothingSelected = error { await context.warn() }
            throw error
        }
        let server = reply.server
        if terminal.isJSON {
            terminal.json(server)
        } else {
            for line in ServerText.details(server, style: terminal.style) { terminal.line(line) }
        }
        terminal.warn(reply.notices)
        return server.isHealthy ? .done : .notOK
    }
}
