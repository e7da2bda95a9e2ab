// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface

/// The command `statusctl reload`.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Have the daemon read its configuration again; returns when it has.",
        discussion: ExitStatus.table)

    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client, terminal in
            let reply = try await client.reload()
            if terminal.isJSON { terminal.json(reply) }
            for failure in reply.failed { terminal.remark("\(failure)") }
            if !reply.failed.isEmpty { throw ExitCode(ExitStatus.configurationWrong.rawValue) }
        }
    }
}
