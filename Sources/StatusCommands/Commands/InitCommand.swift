// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

enum InitCommand {
    /// The number of names of what was left out for one reason.
    private static let mostNames = 5

    private static let print = Flag("print", help: "Write the configuration to standard output, and no file.")
    private static let force = Flag(
        "force",
        help: "Write the file even if servers are configured already; a former file of this command is replaced.")

    static let command = Command<ExitStatus>(
        "init", abstract: "Write a first configuration from what this host has.",
        discussion:
            """
            It finds failed units, enabled services, what timers start, disks, memory, pressure and certificates of \
            services with TLS, and says what it left out; one more server is critical if any unit fails. The file is \
            conf.d/00-init.yaml next to statusd.yaml.\n\n
            """
                + ExitStatus.table([.invalidConfiguration]),
        parameters: [print, force, Options.json, Options.otherHost],
        validate: { arguments throws(InvalidUsage) in
            try Options.checkDaemon(arguments)
            if arguments[print], arguments[Options.json] { throw InvalidUsage("give --print or --json, not both") }
        },
        run: { arguments in
            guard let host = arguments[Options.host].first else { return try await run(arguments) }
            let flags = [print, force, Options.json].filter { arguments[$0] }.map { "--\($0.specification.name)" }
            try host.run(["statusctl", "init"] + flags)
        })

    private static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
        let directory = try directory()
        let path = "\(directory)/conf.d/00-init.yaml"
        let loaded = ConfigurationLoader(location: .directories([directory])).loadAll()
        if !arguments[print], !arguments[force] { try checkIsFirst(loaded, path) }
        let terminal = Terminal(arguments)
        let survey = try await survey(terminal)
        let configuration = InitialConfiguration(
            survey,
            selects: loaded.configuration.selectOrigin.map { $0.file == path } ?? true,
            accepts: loaded.configuration.acceptsAny)
        let text = configuration.text(date: String(TimeText.full(TimeText.now).prefix(10)))
        if arguments[print] {
            terminal.raw(text)
            return .done
        }
        do throws(IOError) { try InitialFile.write(text, to: path) } catch {
            let isDenied = error.code == .permissionDenied
            throw CommandFailure(
                isDenied ? .permissionDenied : .failed, "Failed",
                isDenied ? "\(error.message); use sudo" : "\(error.message); “statusctl init --print” writes no file")
        }
        report(configuration, path, on: terminal)
        return .done
    }

    /// The steps of a survey, each with what it looks at; all of them block.
    private static let steps: [(subject: String, look: @Sendable (inout HostSurvey) -> Void)] = [
        (
            "the units of systemd",
            { $0.readUnits(ProgramOutput.systemctl("show --all '*.service' '*.timer' -p \(HostSurvey.properties)")) }
        ),
        (
            "the disks",
            {
                $0.readDisks(
                    SystemFile.text(at: "/proc/self/mounts") ?? "", fstab: SystemFile.text(at: "/etc/fstab") ?? ""
                ) { DiskSettings(path: $0).requirements.isEmpty || ServiceSandbox.daemon.obstacle(to: $0) == nil }
            }
        ),
        (
            "the memory and the pressure",
            {
                $0.hasMemory = MonitorAddress.fileExists("/proc/meminfo")
                $0.pressures = ["io", "memory"].filter { SystemFile.text(at: "/proc/pressure/\($0)") != nil }
            }
        ),
        (
            "the certificates of services with TLS",
            {
                $0.readListeners(
                    ["tcp", "tcp6"].compactMap { SystemFile.text(at: "/proc/net/\($0)") },
                    certificate: ProgramOutput.certificate)
            }
        ),
    ]

    @EventLoop
    private static func survey(_ terminal: Terminal) async throws -> HostSurvey {
        let progress = ProgressIndicator(terminal, environment: ProcessEnvironment.current)
        return try await progress({ "Looking at \(steps[min($0, steps.count - 1)].subject)" }) {
            var survey = HostSurvey()
            for step in steps {
                survey = await BlockingThread.run { [survey] in
                    var survey = survey
                    step.look(&survey)
                    return survey
                }
                progress.done += 1
            }
            return survey
        }
    }

    /// The directory of the user's own configuration if the user has run a daemon, else of the system's.
    private static func directory() throws -> String {
        let environment = ProcessEnvironment.current
        let isOwn =
            geteuid() != 0
            && environment["XDG_RUNTIME_DIR"].map { MonitorAddress.fileExists("\($0)/statusd") } ?? false
        let location = ConfigurationLocation.standard(environment: environment, isRoot: !isOwn)
        guard case .directories(let directories) = location, let first = directories.first else {
            throw CommandFailure(.failed, "Failed", "no directory for the configuration; set HOME")
        }
        return first
    }

    /// Throws if the file exists, or servers are configured already.
    private static func checkIsFirst(_ loaded: LoadedConfiguration, _ path: String) throws {
        if !loaded.errors.isEmpty, loaded.errors.allSatisfy(\.isPermissionDenied) {
            throw CommandFailure(
                .permissionDenied, "Failed", "permission denied; use sudo, or “statusctl init --print”")
        }
        guard loaded.errors.isEmpty else {
            throw CommandFailure(
                .invalidConfiguration, "Failed",
                "the configuration cannot be read; run “statusctl verify” to see why, or “statusctl init --print”")
        }
        let exists = MonitorAddress.fileExists(path)
        guard exists || !loaded.configuration.servers.isEmpty else { return }
        let reason = exists ? "\(VisibleText.escape(path)) exists already" : "servers are configured already"
        throw CommandFailure(
            .failed, "Failed", "\(reason); “statusctl init --print” shows what init would write, and --force writes it")
    }

    private static func report(_ configuration: InitialConfiguration, _ path: String, on terminal: Terminal) {
        let entries = configuration.entries
        if terminal.isJSON {
            return terminal.json { writer in
                writer.member("file", path)
                writer.member("selected", configuration.selected?.rawValue)
                writer.member("servers", entries.map(\.name.rawValue))
                writer.member("leftOut", configuration.omissions.flatMap(\.names))
            }
        }
        let width = entries.map(\.name.rawValue.count).max() ?? 0
        terminal.line("wrote \(path): \(entries.count) \(entries.count == 1 ? "server" : "servers")")
        for entry in entries {
            let mark = entry.name == configuration.selected ? "*" : " "
            let line = "\(mark) \(entry.name.rawValue.fitted(to: width))  \(entry.subject)"
            terminal.line(terminal.width.map { line.cut(to: $0, ellipsis: terminal.style.ellipsis) } ?? line)
        }
        for omission in configuration.omissions {
            let some = omission.names.prefix(mostNames).joined(separator: ", ")
            let rest = omission.names.count - mostNames
            terminal.line("left out \(omission.reason): \(some)\(rest > 0 ? " and \(rest) more" : "")")
        }
        if let name = configuration.failedUnits {
            terminal.line("left out other types of units, and user managers; \(name) is critical if any unit fails")
        }
        terminal.line("Next: “statusctl reload” makes it take effect, and “statusctl list” shows the servers.")
    }
}
