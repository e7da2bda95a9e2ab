// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusConfiguration
import StatusModel

/// Checks a configuration with the permissions of its future users.
struct Verification {
    /// The user whose permissions apply to files.
    private enum View {
        /// The permissions of the system's services; only root can check them.
        case services
        /// The permissions of the caller, for the caller's own configuration or draft.
        case caller
        /// The permissions of a caller that may not see all files of the system's services.
        case stranger
    }

    /// The servers of the running daemon that take posts.
    var posted: [ServerName] = []
    private let view: View
    private let loaded: LoadedConfiguration

    /// Reads the configuration at `location`.
    init(of location: ConfigurationLocation) {
        // A directory that the environment sets is not the system daemon's.
        let system = ConfigurationLocation.standard(environment: [:], isRoot: true)
        let view: View = !location.isWithin(system) ? .caller : geteuid() == 0 ? .services : .stranger
        let loader = ConfigurationLoader(location: location)
        var loaded = view == .services ? ServiceUser.daemon.perform { loader.loadAll() } : loader.loadAll()
        if view != .caller { loaded.warnOfHiddenArguments() }
        self.loaded = loaded
        self.view = view
    }

    /// Whether no configuration file was found.
    var isEmpty: Bool { loaded.isEmbedded && loaded.errors.isEmpty }

    /// The files that were read, or should have been.
    var files: [String] { loaded.files }

    /// The errors and warnings, in the order of the files.
    var problems: [Problem] {
        let servers = loaded.configuration.servers.sorted { $0.key < $1.key }
        let unknownUnits = UnknownUnits.among(
            servers.flatMap { $0.value.source?.base.requirements ?? [] }.compactMap {
                if case .unit(let name) = $0 { name } else { nil }
            })
        return loaded.sorted(
            loaded.problems.map(explain) + hiddenFiles + removed + commonLacks(servers) + missingReceivers
                + servers.flatMap { missing(for: $0.key, $0.value, unknownUnits) })
    }

    /// Warns of servers that programs had posted before the first one was configured.
    private var removed: [Problem] {
        let servers = loaded.configuration.servers
        let kept = Set(servers.flatMap { [$0.key, $0.value.formerName ?? $0.key] })
        let names = posted.filter { !kept.contains($0) }
        guard !loaded.configuration.acceptsAny, !names.isEmpty,
            let origin = servers.values.map(\.origin).min(by: { $0.file < $1.file })
        else { return [] }
        let some = names.prefix(3).map(\.rawValue).joined(separator: ", ") + (names.count > 3 ? " and others" : "")
        return [
            Problem(
                .warning, at: Origin(file: origin.file),
                reason: "a reload removes servers that take posts now (\(some)), because they are not configured; "
                    + "add “accept: any” to keep them")
        ]
    }

    /// Warns once of each lack of this host that several servers may share, with the servers that it affects.
    private func commonLacks(_ servers: [(key: ServerName, value: ServerConfiguration)]) -> [Problem] {
        var lacks: [String: [(key: ServerName, value: ServerConfiguration)]] = [:]
        for server in servers {
            for requirement in server.value.source?.base.requirements ?? [] {
                commonLack(requirement).map { lacks[$0, default: []].append(server) }
            }
        }
        return lacks.compactMap { what, servers in
            servers.first.map { first in
                let names = servers.prefix(3).map(\.key.rawValue).joined(separator: ", ")
                let rest = servers.count > 3 ? " and \(servers.count - 3) more" : ""
                return Problem(.warning, at: first.value.origin, reason: "\(names)\(rest) cannot be checked\(what)")
            }
        }
    }

    private func commonLack(_ requirement: SourceRequirement) -> String? {
        switch requirement {
        case .library(let name, let package):
            dlopen(name, RTLD_LAZY | RTLD_LOCAL) == nil ? " without \(name); install the package \(package)" : nil
        case .journal: mayReadJournal ? nil : " by the user statusd: \(JournalSettings.remedy(for: "statusd"))"
        case .echoRequests: mayPing ? nil : ": the daemon \(PingSettings.refusal)"
        default: nil
        }
    }

    /// Whether the daemon may ping, which depends on its groups; true if unknown.
    private var mayPing: Bool {
        func failure() -> Int32 {
            let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), Int32(IPPROTO_ICMP))
            return descriptor < 0 ? errno : close(descriptor)
        }
        if view == .stranger { return true }
        let number = view == .services ? ServiceUser.daemon.perform(failure) : failure()
        return number != EACCES && number != EPERM
    }

    /// Whether the service may read the journal, which depends on the groups of its user; true if unknown.
    private var mayReadJournal: Bool {
        guard view == .services, let machine = SystemFile.text(at: "/etc/machine-id")?.prefix(32) else { return true }
        let files = ["/var/log", "/run/log"].map { "\($0)/journal/\(machine)/system.journal" }
        return ServiceUser.daemon.perform {
            !files.contains { file in
                let descriptor = open(file, O_RDONLY | O_CLOEXEC)
                return (descriptor < 0 ? errno : close(descriptor)) == EACCES
            }
        }
    }

    /// Warns of receivers of alerts whose programs cannot be run.
    private var missingReceivers: [Problem] {
        loaded.configuration.receivers.sorted { $0.key < $1.key }.compactMap { name, receiver in
            obstacle(toRunning: receiver.command[0], for: .alerts).map {
                Problem(.warning, at: receiver.origin, reason: "the receiver \(name): \($0)")
            }
        }
    }

    private func obstacle(toRunning path: String, for user: ServiceUser) -> String? {
        refusal(of: path, X_OK, "run", for: user)
            ?? (isFile(path) ? nil : "\(VisibleText.escape(path)) is not a regular file")
    }

    /// Errors of files that are links to places hidden from the daemon.
    private var hiddenFiles: [Problem] {
        loaded.files.compactMap { file in
            hidden(file, from: .daemon).map {
                Problem(.error, at: Origin(file: file), reason: "the daemon cannot read it: \($0)")
            }
        }
    }

    /// The setting that hides a file from the service of `user`; nil if none does, or if the caller's permissions
    /// apply.
    private func hidden(_ path: String, from user: ServiceUser) -> String? {
        if view == .caller { return nil }
        return user.sandbox.obstacle(to: SystemFile.target(of: path))
    }

    private static func folder(of path: String) -> String { String(path.lastIndex(of: "/").map { path[...$0] } ?? "/") }

    /// Adds the user that cannot read a file, and the remedy.
    private func explain(_ problem: Problem) -> Problem {
        guard problem.isPermissionDenied else { return problem }
        var problem = problem
        problem.reason =
            switch view {
            case .services: "permission denied for the user statusd; make it readable for that user"
            case .caller: "permission denied"
            case .stranger: "permission denied; run “sudo statusctl verify”"
            }
        return problem
    }

    /// Warns of requirements that this host does not meet; it may meet them when the daemon needs them.
    private func missing(
        for name: ServerName, _ server: ServerConfiguration, _ unknownUnits: Set<String>
    ) -> [Problem] {
        let reasons = (server.source?.base.requirements ?? []).compactMap { obstacle(to: $0, unknownUnits) }
        return reasons.map { Problem(.warning, at: server.origin, server: name, reason: $0) }
    }

    private func obstacle(to requirement: SourceRequirement, _ unknownUnits: Set<String>) -> String? {
        switch requirement {
        case .program(let path): return obstacle(toRunning: path, for: .executor)
        case .readableFile(let path): return refusal(of: path, R_OK, "read", for: .daemon)
        // connect(2) needs the permission to write.
        case .connectableSocket(let path): return refusal(of: path, W_OK, "connect to", for: .daemon)
        case .visiblePath(let path):
            guard let obstacle = hidden(path, from: .daemon) else {
                return refusal(of: Self.folder(of: path), X_OK, "enter", for: .daemon)
            }
            return "the daemon cannot see \(VisibleText.escape(path)): \(obstacle)"
        case .user(let name), .account(let name):
            do throws(IOError) {
                return try UserDatabase.user(name) == nil ? "unknown user “\(VisibleText.escape(name))”" : nil
            } catch {
                return VisibleText.escape(error.message)
            }
        case .unit(let name):
            return unknownUnits.contains(name) ? "unit \(VisibleText.escape(name)) not found" : nil
        case .kernelFile(let path, let advice): return access(path, R_OK) == 0 ? nil : advice
        // These are told once for all servers.
        case .library, .journal, .echoRequests: return nil
        }
    }

    /// The reason why a user cannot read, run or enter a path; nil if it can, or if unknown.
    private func refusal(of path: String, _ mode: Int32, _ verb: String, for user: ServiceUser) -> String? {
        func look() -> Int32? { faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? nil : errno }
        let failure = view == .services ? user.perform(look) : look()
        guard let failure else {
            return hidden(path, from: user).map { "cannot \(verb) \(VisibleText.escape(path)): \($0)" }
        }
        if view == .stranger, failure == EACCES { return nil }
        // A path that does not exist does not depend on the user.
        let who = view == .services && failure != ENOENT ? " as the user \(user.rawValue)" : ""
        return "cannot \(verb) \(VisibleText.escape(path))\(who): \(String(cString: strerror(failure)))"
    }

    private func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : errno == EACCES
    }
}

/// The units that the system's service manager does not have.
enum UnknownUnits {
    /// The names for one command, whose length the kernel limits.
    private static let namesPerCommand = 200

    /// The units among these that do not exist; none if no service manager answers.
    static func among(_ units: [String]) -> Set<String> {
        var unknown: Set<String> = []
        var rest = Set(units).sorted()[...]
        while !rest.isEmpty {
            let asked = rest.prefix(namesPerCommand)
            rest = rest.dropFirst(namesPerCommand)
            // The names of units have no quotation marks.
            let names = asked.map { "'\($0)'" }.joined(separator: " ")
            // The states are in the order of the names.
            let states = ProgramOutput.systemctl("show -p LoadState -- \(names)").split(separator: "\n")
                .map { $0.drop { $0 != "=" }.dropFirst() }
            guard states.count == asked.count else { return [] }
            unknown.formUnion(zip(asked, states).filter { $1 == "not-found" }.map(\.0))
        }
        return unknown
    }
}

enum ProgramOutput {
    /// What systemctl writes for arguments that the shell reads; nothing if it cannot be run or takes too long.
    ///
    /// The path is absolute, because root may run this.
    static func systemctl(_ arguments: String) -> String {
        output(of: "/usr/bin/timeout 5 /usr/bin/systemctl \(arguments) 2>/dev/null")
    }

    /// What openssl(1) says about the certificate at an address: whether it can be verified, and its names; nothing if
    /// there is none.
    ///
    /// - Parameter address: numbers, which the shell does not expand.
    static func certificate(at address: String) -> String {
        let openssl = "/usr/bin/openssl"
        return output(
            of: "c=$(/usr/bin/timeout 3 \(openssl) s_client -connect '\(address)' </dev/null 2>/dev/null)"
                + " && printf '%s\\n' \"$c\" | \(openssl) x509 -noout -ext subjectAltName 2>/dev/null"
                + " && printf '%s\\n' \"$c\" | grep -m 1 'Verify return code'")
    }

    /// What a command of the shell writes; nothing if it cannot be run.
    private static func output(of command: String) -> String {
        guard let pipe = popen(command, "re") else { return "" }
        defer { pclose(pipe) }
        return SystemFile.text(of: pipe)
    }
}
