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
        let problems =
            files.isEmpty
            ? standardProblems(terminal)
            : files.map { ConfigurationLocation(path: $0) }.flatMap { location in
                Self.problems(of: ConfigurationLoader(location: location).loadAll(), at: location, terminal)
            }
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

    /// What is wrong with the configuration that the daemon would read, as the daemon would read it.
    private static func standardProblems(_ terminal: Terminal) -> [Problem] {
        let location = standardLocation
        let loaded = ServiceUser.daemon.perform { ConfigurationLoader(location: location).loadAll() }
        return problems(of: loaded, at: location, terminal)
    }

    private static func problems(
        of loaded: LoadedConfiguration, at location: ConfigurationLocation, _ terminal: Terminal
    ) -> [Problem] {
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
            case .exec(let command): [unusable(plugin: command[0])].compactMap(\.self)
            case .http(let http): [http.certificateAuthority.flatMap(unreadable)].compactMap(\.self)
            case .notify(let users): users.compactMap(unknown)
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

    private static func unusable(plugin path: String) -> String? {
        let refusal = ServiceUser.executor.refusal(of: path, X_OK, "run")
        let reason = refusal ?? (isFile(path) ? nil : "is not a regular file")
        return reason.map { "\(VisibleText.escape(path)) \($0)" }
    }

    private static func unreadable(_ path: String) -> String? {
        ServiceUser.daemon.refusal(of: path, R_OK, "read").map { "\(VisibleText.escape(path)) \($0)" }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
