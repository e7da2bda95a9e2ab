// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import StatusInterface
import StatusModel
import StatusSources
import StatusSupport
import StatusWorkers

/// The command line of the daemon.
@main
enum Main {
    private static let config = Option<String?>(
        "config", value: "PATH", help: "Read this file, or statusd.yaml and conf.d/ in this directory.", default: nil,
        completion: .files
    ) { $0 }

    private static let state = Option(
        "state", value: "DIRECTORY",
        help: "Keep the state and the history in this directory; “none”: keep nothing.",
        default: StateLocation.standard, completion: .files
    ) { text throws(InvalidValue) in
        if text == "none" { return .none }
        guard text.hasPrefix("/") else { throw InvalidValue("must be an absolute path, or none") }
        return .directory(text)
    }

    private static let logLevel = Option(
        "log-level", value: "LEVEL",
        help: "Log messages of this level and above: \(levels.joined(separator: ", ")) (default: info).",
        default: Logger.Level.info, completion: .words(levels)
    ) { text throws(InvalidValue) in
        guard let level = Logger.Level(rawValue: text) else {
            throw InvalidValue("must be one of \(levels.joined(separator: ", "))")
        }
        return level
    }

    private static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    private static let program = Command<Void>(
        "statusd", abstract: "Follow the status of servers, one of them selected.",
        discussion:
            "Exit status: 0 stopped by a signal, 1 failed, 64 invalid command line, 78 invalid configuration.\n\n"
            + "“statusd executor” runs plugins for the daemon; statusd-executor.service starts it.",
        parameters: [config, state, logLevel])

    private static let charset = Charset(environment: ProcessEnvironment.current)

    static func main() {
        WorkerRole(commandLine: CommandLine.arguments)?.run()
        Daemon.prepare()
        let parser = CommandParser(program, version: MonitorVersion.current)
        do throws(UsageError) {
            switch try parser.parse(Array(CommandLine.arguments.dropFirst())) {
            case .show(let text): show(text)
            case .complete(let words):
                EventLoop.runProcess {
                    for line in await parser.candidates(for: words) { print(line) }
                    return 0
                }
            case .run(_, let arguments):
                Daemon(
                    configuration: arguments[config], state: arguments[state],
                    environment: ProcessEnvironment.current,
                    logLevel: arguments[logLevel]
                ).runAndExit()
            }
        } catch {
            let message = charset.text("statusd: \(VisibleText.escape(error.reason))\n\(error.usage)\n")
            _ = write(STDERR_FILENO, message, message.utf8.count)
            let reason = "invalid command line: \(error.reason); see “systemctl cat statusd”"
            EventLoop.runProcess {
                await Daemon.tellClients(ofFailedStart: reason)
                return 64
            }
        }
    }

    /// Writes a text to standard output; ends the process with 1 if that fails, unless the reader has enough.
    private static func show(_ text: String) {
        let failure = StandardOutput.write(charset.text(text + "\n"), to: STDOUT_FILENO)
        if failure == 0 || failure == EPIPE { return }
        let reason = String(cString: strerror(failure))
        StandardOutput.write("statusd: cannot write to standard output: \(reason)\n", to: STDERR_FILENO)
        exit(1)
    }
}

extension WorkerRole {
    /// Runs the role until it ends.
    fileprivate func run() -> Never {
        prepare()
        switch self {
        case .executor: Executor.run()
        case .pluginWorker: PluginWorker.run()
        case .httpWorker: HTTPWorker.run()
        case .dnsWorker: DNSWorker.run()
        case .lookUpWorker: LookUpWorker.run()
        case .hostWorker: HostWorker.run()
        case .hostCheck: HostWorker.runOnce()
        }
    }
}
