// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import Varlink

/// The command `statusctl reload`.
enum ReloadCommand {
    private static let quiet = Flag(
        "quiet",
        help:
            "Do not show what is wrong with the configuration; the daemon's journal has that, unless there were ten reloads in the last 30 s."
    )

    static let command = ClientCommand.make(
        "reload", abstract: "Have the daemon read its configuration again; returns when it has.", parameters: [quiet],
        mayBeRepeated: true, isChange: true
    ) { context in
        guard context.arguments[quiet] else { return show(try await context.client.reload(), on: context.terminal) }
        do {
            return try await context.client.reload().failed.isEmpty ? .done : .configurationWrong
        } catch let error as VarlinkError where error.name == MonitorInterface.qualified("ReloadFailed") {
            return .configurationWrong
        }
    }

    private static func show(_ reply: ReloadReply, on terminal: Terminal) -> ExitStatus {
        if terminal.isJSON { terminal.json(reply) }
        for warning in reply.warnings { terminal.remark("warning: \(warning)") }
        for failure in reply.failed { terminal.remark("\(failure)") }
        guard !reply.failed.isEmpty else { return .done }
        terminal.remark("the rest of the configuration took effect")
        return .configurationWrong
    }
}
