// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// The options that several commands have.
enum Options {
    static let json = Flag("json", help: "Write JSON, errors included: one object, or one object a line for streams.")

    static let address = Option<VarlinkAddress?>(
        "address", value: "ADDRESS",
        help: "Use the daemon at this address (default: $STATUSD_ADDRESS, else the user's own daemon or the system's).",
        default: nil
    ) { text throws(InvalidValue) in
        do throws(IOError) {
            return try MonitorAddress.parse(text)
        } catch {
            // The error's own message would name the text a second time.
            throw InvalidValue(
                error.code == .pathTooLong
                    ? "must have at most 107 bytes"
                    : "must be /path, unix:/path, unix:@name, exec:/path or bridge:/path")
        }
    }

    static let host = host(help: "Use the daemon of another host, over ssh.")

    /// The same option of a command that takes several hosts.
    static let hosts = host(help: "Use the daemon of another host, or of several, separated by commas, over ssh.")

    /// The same option of a command that needs no daemon.
    static let otherHost = host(help: "Run the command on another host, over ssh.")

    private static func host(help: String) -> Option<[RemoteHost]> {
        Option("host", letter: "H", value: "[USER@]HOST", help: help, default: []) { text throws(InvalidValue) in
            try RemoteHost.list(text)
        }
    }

    /// The daemon that the user chose.
    static func daemon(_ arguments: ParsedArguments) throws(IOError) -> DaemonAddress {
        guard var host = arguments[host].first else {
            guard let address = arguments[address] else { return try .standard() }
            return .local(address)
        }
        if case .unix(let address, _) = arguments[address] { host.address = address }
        return .remote(host)
    }

    /// The daemons of the hosts that the user chose, or the only one.
    static func daemons(_ arguments: ParsedArguments) throws(IOError) -> [DaemonAddress] {
        guard arguments[host].count > 1 else { return [try daemon(arguments)] }
        let socket: UnixAddress? = if case .unix(let address, _) = arguments[address] { address } else { nil }
        return arguments[host].map { host in
            var host = host
            host.address = socket
            return .remote(host)
        }
    }

    static func checkDaemon(_ arguments: ParsedArguments, severalHosts: Bool = false) throws(InvalidUsage) {
        if arguments[host].count > 1, !severalHosts {
            throw InvalidUsage("give one host; only list and top take several")
        }
        guard !arguments[host].isEmpty, let address = arguments[address] else { return }
        guard case .unix = address else {
            throw InvalidUsage("with --host, --address must be the path of a socket on that host")
        }
    }

    static let all = Flag("all", help: "Follow every server.")

    /// A required name of a server, which is checked.
    static func serverName(completion: Completion = .servers()) -> Argument<ServerName> {
        .required("name", help: "The server's name.", completion: completion) { text throws(InvalidValue) in
            guard let name = ServerName(text) else { throw InvalidValue(ServerName.rule) }
            return name
        }
    }

    /// An optional name of a server, which the daemon checks.
    static let anyServer = server(completion: .servers())

    static func server(completion: Completion) -> Argument<String?> {
        .optional("name", help: "The server's name.", completion: completion)
    }

    /// Any number of names of servers, which the command or the daemon checks.
    static let servers = Argument<[String]>.list("name", help: "The server's name.", completion: .servers())

    /// The line for each server, instead of a table or a description.
    static let format = Option<FormatTemplate?>(
        "format", value: "TEXT", help: "Write this line for each server; {name}, {text} and {level} are fields.",
        default: nil
    ) { text throws(InvalidValue) in try FormatTemplate(text) }

    /// Checks that the output has one form.
    static func checkFormat(_ arguments: ParsedArguments) throws(InvalidUsage) {
        if arguments[format] != nil, arguments[json] { throw InvalidUsage("give --format or --json, not both") }
    }

    /// A time, by the rules of systemd.time(7).
    static func time(_ name: String, help: String) -> Option<TimeExpression?> {
        Option(name, value: "TIME", help: help, default: nil) { text throws(InvalidValue) in
            guard let time = TimeExpression(text) else { throw InvalidValue(TimeExpression.rule) }
            return time
        }
    }

    static func number(
        _ name: String, letter: Character? = nil, in range: ClosedRange<Int>, help: String
    ) -> Option<Int?> {
        Option(name, letter: letter, value: "N", help: help, default: nil) { text throws(InvalidValue) in
            guard let number = Int(text), range ~= number else {
                let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
                throw InvalidValue("must be a whole number from \(range.lowerBound)\(end)")
            }
            return number
        }
    }

    static func level(help: String) -> Option<Level?> {
        let words = Level.allCases.map(\.rawValue)
        return Option("level", value: "LEVEL", help: help, default: nil, completion: .words(words)) {
            text throws(InvalidValue) in
            guard let level = Level(rawValue: text) else {
                throw InvalidValue("must be \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")")
            }
            return level
        }
    }
}

extension Completion {
    /// The names of those servers of the daemon for which `condition` holds, with their levels; none if it does not
    /// answer.
    ///
    /// A program that `--address` names does not run before the user presses Enter.
    static func servers(where condition: @escaping @Sendable (ServerState) -> Bool = { _ in true }) -> Completion {
        .dynamic { arguments in
            guard let daemon = try? Options.daemon(arguments), daemon.isSocket || daemon.isRemote else { return [] }
            let servers = await (try? daemon.connect(isRetry: true))?.serversIfItAnswers() ?? []
            return servers.filter(condition).map {
                CompletionCandidate($0.name.rawValue, description: ServerText.stateWord($0))
            }
        }
    }
}
