// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import StatusInterface
import StatusModel
import Systemd

/// The command line of statusctl.
public struct StatusCtl: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "statusctl", abstract: "Ask statusd how servers are doing, and tell it.",
        discussion: ExitStatus.table, version: MonitorVersion.current,
        subcommands: [
            ListCommand.self, StatusCommand.self, WatchCommand.self, SelectCommand.self, PostCommand.self,
            RefreshCommand.self, WaitCommand.self, ReloadCommand.self, VerifyCommand.self,
        ])

    /// A command that is not parsed yet.
    public init() {}

    /// Parses the arguments, runs the command and ends the process with its exit status.
    public static func start(_ arguments: [String]) async {
        let arguments = Options.behindCommand(arguments)
        do {
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(error, arguments)
        }
    }

    /// With `--json` wrong usage is told as JSON, too; all else is told as usual.
    private static func end(_ error: any Error, _ arguments: [String]) -> Never {
        let status = exitCode(for: error)
        guard status == .validationFailure, arguments.contains("--json") else { exit(withError: error) }
        let terminal = Terminal(isJSON: true, environment: ProcessEnvironment.current)
        terminal.failure(CommandFailure(.usage, "Usage", VisibleText.escape(message(for: error))))
        exit(withError: ExitCode(ExitStatus.usage.rawValue))
    }
}
