// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSupport

/// The command line of statusctl.
@main
enum StatusCtl {
    static let program = Command<ExitStatus>(
        "statusctl", abstract: "Show, follow and set the status of servers.",
        discussion: ExitStatus.table(Set(ExitStatus.allCases)),
        subcommands: [
            ListCommand.command, StatusCommand.command, WatchCommand.command, TopCommand.command,
            HistoryCommand.command, HostsCommand.command, SelectCommand.command, PostCommand.command,
            RefreshCommand.command, WaitCommand.command, SilenceCommand.command, SilenceCommand.endCommand,
            AlertsCommand.command, MetricsCommand.command, ForgetCommand.command, ReloadCommand.command,
            VerifyCommand.command, InitCommand.command, BridgeCommand.command,
        ])

    static let parser = CommandParser<ExitStatus>(program, version: MonitorVersion.current)

    /// Runs the command line and exits.
    ///
    /// The process has a single thread, the event loop's.
    static func main() {
        // This is the default, but glibc reads the file of a variable only once (tzset(3)).
        if ["/etc/localtime", ":/etc/localtime"].contains(ProcessEnvironment.current["TZ"]) { unsetenv("TZ") }
        var words = Array(CommandLine.arguments.dropFirst())
        // Without any words, a terminal shows how the host is doing; a script has forgotten its command.
        let isBare = words.isEmpty && isatty(STDOUT_FILENO) == 1
        if isBare { words = ["status", "--all"] }
        do throws(UsageError) {
            switch try parser.parse(words) {
            case .show(let text):
                Terminal(isJSON: false, environment: ProcessEnvironment.current).line(text)
                exit(ExitStatus.done.rawValue)
            case .complete(let words):
                EventLoop.runProcess {
                    let terminal = Terminal(isJSON: false, environment: ProcessEnvironment.current)
                    for line in await parser.candidates(for: words) { terminal.line(line) }
                    return ExitStatus.done.rawValue
                }
            case .run(let command, let arguments):
                // A write reports that the reader has closed the pipe; no signal is needed.
                signal(SIGPIPE, SIG_IGN)
                // The same for a file that must not grow any more (setrlimit(2)).
                signal(SIGXFSZ, SIG_IGN)
                EventLoop.runProcess {
                    let status = await run(command, arguments)
                    if isBare { Terminal(arguments).hint("for all commands, see “statusctl --help”") }
                    return status.rawValue
                }
            }
        } catch {
            end(error, isJSON: CommandParser<ExitStatus>.asks(for: Options.json, words))
        }
    }

    private static func run(_ command: Command<ExitStatus>, _ arguments: ParsedArguments) async -> ExitStatus {
        do {
            return try await command.run?(arguments) ?? .done
        } catch {
            let failure = CommandFailure(error, address: nil)
            Terminal(arguments).failure(failure)
            return failure.status
        }
    }

    private static func end(_ error: UsageError, isJSON: Bool) -> Never {
        let terminal = Terminal(isJSON: isJSON, environment: ProcessEnvironment.current)
        let reason = VisibleText.escape(error.reason)
        terminal.failure(CommandFailure(.usage, "Usage", isJSON ? reason : "\(reason)\n\(error.usage)"))
        exit(ExitStatus.usage.rawValue)
    }
}
