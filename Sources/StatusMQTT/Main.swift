// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusSupport
import SystemdClient

/// The command line of statusd-mqtt.
@main
enum Main {
    private static let config = Option<String?>(
        "config", value: "PATH", help: "Read the section mqtt from this file or directory, instead of from statusd.",
        default: nil, completion: .files
    ) { $0 }

    private static let check = Flag(
        "check", help: "Connect to each broker, say what it permits, and end; publish nothing.")

    private static let remove = Option<String?>(
        "remove", value: "HOST", help: "Remove all that the broker keeps of a host that is gone, and end.", default: nil
    ) { text throws(InvalidValue) in
        guard MQTTSettings.isHost(text) else { throw InvalidValue(MQTTSettings.hostRule) }
        return text
    }

    private static let program = Command<Void>(
        "statusd-mqtt", abstract: "Publish servers at an MQTT broker, and follow those of other hosts.",
        discussion: "Exit status: 0 stopped by a signal, 1 failed, 64 invalid command line, 78 invalid configuration.",
        parameters: [config, check, remove],
        validate: { arguments throws(InvalidUsage) in
            if arguments[check], arguments[remove] != nil {
                throw InvalidUsage("--check and --remove exclude each other")
            }
        })

    private static let charset = Charset(environment: ProcessEnvironment.current)

    static func main() {
        Program.prepare()
        let parser = CommandParser(program, version: MonitorVersion.current)
        do throws(UsageError) {
            switch try parser.parse(Array(CommandLine.arguments.dropFirst())) {
            case .show(let text): StandardOutput.write(charset.text(text + "\n"), to: STDOUT_FILENO)
            case .complete: break
            case .run(_, let arguments):
                let work: Program.Work =
                    arguments[check] ? .check : arguments[remove].map { .remove($0) } ?? .carry
                let process = Program(configuration: arguments[config], logger: makeLogger())
                EventLoop.runProcess { await process.run(work) }
            }
        } catch {
            let message = charset.text("statusd-mqtt: \(VisibleText.escape(error.reason))\n\(error.usage)\n")
            StandardOutput.write(message, to: STDERR_FILENO)
            exit(64)
        }
    }

    private static func makeLogger() -> Logger {
        Logger(label: "statusd-mqtt") { label in
            Journal.makeLogHandler(
                label: label, identifier: "statusd-mqtt", names: JournalFieldNames(prefix: "STATUSD_"))
        }
    }
}
