// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl wait`.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait", abstract: "Wait until a server is ok, or has another level or a text.",
        discussion:
            "The server need not exist yet. What is stale, or loaded before a load failed, does not count.\n\n"
            + ExitStatus.table)

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String

    @Option(help: "The level to wait for: ok, warning, critical or unknown (default: ok, unless there is a text).")
    var level: Level?

    @Option(help: "The text to wait for; with a level, whichever comes first.")
    var text: String?

    @Option(help: ArgumentHelp("How long to wait, such as 30s or 5min (default: for ever).", valueName: "time"))
    var timeout: TimeOption?

    func validate() throws {
        try ServerName.validate(name)
        do throws(InvalidStatus) { _ = try text.map { text throws(InvalidStatus) in try StatusText(text) } } catch {
            throw ValidationError("nothing ever has this text: \(error)")
        }
    }

    func run() async throws {
        try await options.perform { client, terminal in
            guard let server = ServerName(name) else { return }
            let level = level ?? (text == nil ? .ok : nil)
            let state = try await client.wait(
                WaitParameters(server: server, level: level, text: text, timeout: timeout?.duration))
            if terminal.isJSON { terminal.json(state) }
        }
    }
}

/// A span of time on the command line.
struct TimeOption: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = TimeSpan.parse(argument) else { return nil }
        self.duration = duration
    }
}
