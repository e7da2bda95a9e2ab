// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
public import SourceKinds
import StatusConfiguration
import StatusModel
import StatusSupport
public import Varlink

enum VerifyCommand {
    private static let files = Argument<[String]>.list(
        "file", help: "A file, or a directory with statusd.yaml and conf.d/.", completion: .files)

    static let command = Command<ExitStatus>(
        "verify", abstract: "Check configuration files, also without a daemon.",
        discussion: "Without FILE, it checks your own configuration if there is one, otherwise the system's.\n\n"
            + ExitStatus.table([.invalidConfiguration]),
        parameters: [files, Options.json, Options.otherHost],
        validate: { arguments throws(InvalidUsage) in try Options.checkDaemon(arguments) },
        run: { arguments in
            guard let host = arguments[Options.host].first else { return await verify(arguments) }
            try host.run(
                ["statusctl", "verify"] + (arguments[Options.json] ? ["--json"] : []) + ["--"] + arguments[files])
        })

    private static func verify(_ arguments: ParsedArguments) async -> ExitStatus {
        let terminal = Terminal(arguments)
        let files = arguments[files]
        let locations = files.isEmpty ? [standardLocation(terminal)] : files.map { ConfigurationLocation(path: $0) }
        var problems: [Problem] = []
        var read: [String] = []
        // Without FILE, the daemon's configuration is missing by design.
        var isMissing = false
        for location in locations {
            var verification = Verification(of: location)
            if files.isEmpty { verification.posted = await posted(arguments) }
            if verification.isEmpty {
                terminal.note("nothing to check: no configuration in \(location)")
                isMissing = !files.isEmpty
            }
            problems += verification.problems
            read += verification.files
        }
        if terminal.isJSON {
            terminal.json {
                $0.member("files", read.map { VisibleText.escape($0) })
                $0.member("problems", problems)
            }
        }
        for problem in problems { terminal.note(VisibleText.escape("\(problem.severity.rawValue): \(problem)")) }
        let errors = problems.filter { $0.severity == .error }
        if errors.isEmpty { return isMissing ? .invalidConfiguration : .done }
        return geteuid() != 0 && errors.allSatisfy(\.isPermissionDenied) ? .permissionDenied : .invalidConfiguration
    }

    /// The servers of the running daemon that take posts, which the new configuration may remove.
    private static func posted(_ arguments: ParsedArguments) async -> [ServerName] {
        guard let client = try? await Options.daemon(arguments).connect(mayStart: false, timeout: .seconds(1)) else {
            return []
        }
        return await client.serversIfItAnswers().filter { $0.source == PushSettings.key }.map(\.name)
    }

    /// The user's own configuration if there is one, with a message; otherwise the system's.
    private static func standardLocation(_ terminal: Terminal) -> ConfigurationLocation {
        let environment = ProcessEnvironment.current
        let system = ConfigurationLocation.standard(environment: environment, isRoot: true)
        let own = ConfigurationLocation.standard(environment: environment, isRoot: geteuid() == 0)
        if ConfigurationLoader(location: own).loadAll().isEmbedded { return system }
        if own != system {
            terminal.note("checking your own configuration, \(own), not the system's, \(system)")
        }
        return own
    }
}

extension Problem: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("severity", severity.rawValue)
            writer.member("file", origin.file)
            writer.member("line", origin.line)
            writer.member("server", server?.rawValue)
            writer.member("reason", reason)
        }
    }
}
