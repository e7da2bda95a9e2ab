// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import StatusInterface
public import StatusModel
import Varlink

/// The command `statusctl post`.
struct PostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post", abstract: "Post a status of a server.", discussion: ExitStatus.table)

    @OptionGroup var options: ClientOptions

    @Argument(help: "The server's name.")
    var name: String

    @Argument(help: "What it says: one line, at most 1024 bytes.")
    var text: String

    @Option(help: "How serious it is: ok, warning, critical or unknown.")
    var level = Level.ok

    func validate() throws { try ServerName.validate(name) }

    func run() async throws {
        try await options.perform { client, terminal in
            let revision = try await client.post(text, level: level, to: name)
            if terminal.isJSON { terminal.json { $0.member("revision", revision) } }
        }
    }
}

extension Level: ExpressibleByArgument {}

extension ServerName {
    /// Refuses what can be no server's name before anybody is asked.
    static func validate(_ text: String) throws {
        guard ServerName(text) == nil else { return }
        throw ValidationError("“\(VisibleText.escape(text))” is no server's name: \(rule)")
    }
}
