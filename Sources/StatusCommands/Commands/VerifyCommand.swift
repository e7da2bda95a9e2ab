// SPDX-License-Identifier: Apache-2.0

import Arguments
import Glibc
import StatusConfiguration
import StatusModel
import Systemd
import Varlink

/// The command `statusctl verify`.
enum VerifyCommand {
    private static let files = Argument<[String]>.list(
        "file", help: "The files, or directories with statusd.yaml and conf.d/.", completion: .files)

    static let command = Command<ExitStatus>(
        "verify", abstract: "Check configuration files without a daemon.",
        discussion: "Without files the configuration is checked that the daemon would read.\n\n" + ExitStatus.table,
        parameters: [files, Options.json], run: { verify($0) })

    private static func verify(_ arguments: ParsedArguments) -> ExitStatus {
        let terminal = Terminal(arguments)
        let files = arguments[files]
        let locations = files.isEmpty ? [standardLocation] : files.map { ConfigurationLocation(path: $0) }
        let problems = locations.flatMap { Self.problems(at: $0, terminal) }
        if terminal.isJSON { terminal.json { $0.member("problems", problems.map(ProblemText.init)) } }
        for problem in problems { terminal.remark("\(problem.severity.rawValue): \(problem)") }
        return problems.contains { $0.severity == .error } ? .configurationWrong : .done
    }

    /// The user's own configuration where there is one, else that of the system's daemon.
    private static var standardLocation: ConfigurationLocation {
        let environment = ProcessEnvironment.current
        let own = ConfigurationLocation.standard(environment: environment, isRoot: geteuid() == 0)
        let isThere = !ConfigurationLoader(location: own).loadAll().isEmbedded
        return isThere ? own : .standard(environment: environment, isRoot: true)
    }

    private static func problems(at location: ConfigurationLocation, _ terminal: Terminal) -> [Problem] {
        let loaded = ConfigurationLoader(location: location).loadAll()
        if loaded.isEmbedded, loaded.errors.isEmpty {
            terminal.remark("nothing to check: there is no configuration in \(location)")
        }
        let servers = loaded.configuration.servers.sorted { $0.key < $1.key }
        return loaded.problems + servers.flatMap { missing(for: $0.key, $0.value) }
    }

    /// What a server needs and this machine does not have; a warning, since it may be there when the daemon needs it.
    private static func missing(for name: ServerName, _ server: ServerConfiguration) -> [Problem] {
        let reasons: [String] =
            switch server.source {
            case .exec(let command): [unusable(command[0], X_OK, "run") ?? notAFile(command[0])].compactMap(\.self)
            case .http(let http): [http.certificateAuthority.flatMap { unusable($0, R_OK, "read") }].compactMap(\.self)
            case .notify(let users):
                users.compactMap(unknown)
            case .push, .unit, .tcp, .none: []
            }
        return reasons.map { Problem(.warning, at: server.origin, server: name, reason: $0) }
    }

    private static func unknown(user: String) -> String? {
        do throws(SystemdError) {
            return try UserDatabase.user(user) == nil ? "there is no user “\(VisibleText.escape(user))”" : nil
        } catch {
            return VisibleText.escape(error.message)
        }
    }

    private static func notAFile(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return nil }
        return "\(VisibleText.escape(path)) cannot be run: it is not a regular file"
    }

    private static func unusable(_ path: String, _ mode: Int32, _ verb: String) -> String? {
        guard access(path, mode) != 0 else { return nil }
        return "\(VisibleText.escape(path)) cannot be \(verb): \(String(cString: strerror(errno)))"
    }
}
