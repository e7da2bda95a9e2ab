// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

enum ListCommand {
    private static let noLegend = Flag("no-legend", help: "Leave out the line with the column names.")
    private static let watch = Flag("watch", help: "Write the list again whenever it has changed, until interrupted.")

    static let command = ClientCommand.make(
        "list", abstract: "List servers; * marks the selected one.",
        parameters: ServerFilter.parameters + [Options.format, noLegend, watch], mayBeRepeated: true,
        severalHosts: true,
        beforeConnecting: { arguments in
            guard arguments[Options.host].count > 1 else { return nil }
            return await HostList(arguments: arguments).run()
        },
        validate: { arguments throws(InvalidUsage) in
            try Options.checkFormat(arguments)
            if arguments[watch], arguments[Options.host].count > 1 {
                throw InvalidUsage("give --watch or several hosts, not both")
            }
        }, run: list)

    private static func list(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let (terminal, arguments) = (context.terminal, context.arguments)
        let filter = ServerFilter(arguments)
        if arguments[watch] {
            let reader = await PipeReader.withInterrupt()
            defer { withExtendedLifetime(reader) {} }
            try await ListWatcher(context).run()
        }
        let (host, level) = (filter.scope.host, filter.scope.level)
        let all = try await context.client.servers(host: host, level: level)
        let servers = all.filter(filter.includes)
        let notices = await context.notices()
        if terminal.isJSON {
            terminal.json { $0.member("servers", servers) }
        } else if all.isEmpty, filter.scope.isEmpty {
            terminal.note(emptyNote(context, notices))
        } else if servers.isEmpty {
            // With a host or a level, the daemon has left the others out.
            terminal.note(filter.scope.isEmpty ? "none of the \(all.count) servers matches" : "no server matches")
        } else {
            for line in lines(servers.map { ServerListing.Row(server: $0) }, terminal, arguments) {
                terminal.line(line)
            }
        }
        terminal.warn(notices)
        return .done
    }

    /// The note of a daemon without servers, with what to do, unless its notices say that.
    static func emptyNote(_ context: ClientCommand.Context, _ notices: [String]) -> String {
        guard notices.isEmpty else { return "no servers yet; see the warning" }
        let sudo = context.address == .system && geteuid() != 0 ? "sudo " : ""
        return """
            no servers yet; run “\(sudo)statusctl init” to follow what this host has, or “statusctl post NAME TEXT”
            """
    }

    /// The table, or a line for each server in the user's format.
    static func lines(
        _ rows: [ServerListing.Row], _ terminal: Terminal, _ arguments: ParsedArguments
    ) -> [String] {
        if let format = arguments[Options.format] { return rows.map { format.text($0.server, host: $0.host) } }
        return ServerListing(terminal).lines(rows, legend: !arguments[noLegend])
    }
}

/// The servers that `list` shows.
struct ServerFilter: Sendable {
    private static let level = Options.level(
        help: "Only servers with this level or a worse one, in the order ok, warning, unknown, critical.")
    private static let origin = Option<ServerName?>(
        "of", value: "HOST", help: "Only servers of this other host, which are named NAME@HOST.", default: nil
    ) { text throws(InvalidValue) in
        guard let host = ServerName(text), host.isHost else {
            throw InvalidValue("must be the name of one host, such as web1")
        }
        return host
    }
    private static let selected = Flag("selected", help: "Only the selected server.")
    private static let stale = Flag("stale", help: "Only servers whose status is stale.")
    private static let source = Option<String?>(
        "source", value: "KIND", help: "Only servers with this source kind, such as unit or http.", default: nil,
        completion: .words(kinds)
    ) { text throws(InvalidValue) in
        guard kinds.contains(text) else { throw InvalidValue("must be one of \(kinds.joined(separator: ", "))") }
        return text
    }
    private static let kinds = SourceKinds.keys

    static let parameters: [any AnyParameter] = [level, origin, selected, stale, source]

    private let arguments: ParsedArguments

    init(_ arguments: ParsedArguments) { self.arguments = arguments }

    /// The part of the filter that the daemon knows.
    var scope: ServerScope { ServerScope(host: arguments[Self.origin], level: arguments[Self.level]) }

    /// Whether a server is shown.
    ///
    /// A status that is not current counts as `unknown`.
    func includes(_ server: ServerState) -> Bool {
        if !scope.includes(server) { return false }
        if arguments[Self.selected], !server.isSelected { return false }
        if arguments[Self.stale], !server.isStale { return false }
        return arguments[Self.source].map { $0 == server.source } ?? true
    }
}

/// The servers of several hosts, side by side.
private struct HostList {
    private typealias Answer = Result<[ServerState], CommandFailure>

    /// How long a host that was reached may take for its list; the answers of other hosts wait for it.
    private static let patience = Duration.seconds(10)

    let arguments: ParsedArguments

    /// Asks all hosts at the same time, and writes their answers in the user's order.
    ///
    /// - Returns: the exit status of the first host that failed.
    func run() async -> ExitStatus {
        let terminal = Terminal(arguments)
        let filter = ServerFilter(arguments)
        var rows: [ServerListing.Row] = []
        var failures: [CommandFailure] = []
        for (host, answer) in zip(arguments[Options.host], await answers()) {
            switch answer {
            case .failure(let failure): failures.append(failure)
            case .success(let servers):
                let shown = servers.filter(filter.includes)
                rows += shown.map { ServerListing.Row(host: host.name, server: $0) }
                guard terminal.isJSON else { continue }
                terminal.json { writer in
                    writer.member("host", host.name)
                    writer.member("servers", shown)
                }
            }
        }
        if !terminal.isJSON, !rows.isEmpty {
            for line in ListCommand.lines(rows, terminal, arguments) { terminal.line(line) }
        }
        for failure in failures { terminal.failure(failure) }
        if rows.isEmpty, failures.isEmpty { terminal.note("no server matches") }
        return failures.first?.status ?? .done
    }

    private func answers() async -> [Answer] {
        let hosts = arguments[Options.host]
        let scope = ServerFilter(arguments).scope
        return await withTaskGroup(of: (Int, Answer).self) { group in
            for (number, host) in hosts.enumerated() {
                group.addTask { [scope] in (number, await Self.ask(host, scope)) }
            }
            var answers = [Answer?](repeating: nil, count: hosts.count)
            for await (number, answer) in group { answers[number] = answer }
            return answers.compactMap { $0 }
        }
    }

    private static func ask(_ host: RemoteHost, _ scope: ServerScope) async -> Answer {
        let address = DaemonAddress.remote(host)
        do {
            let client = try await address.connect()
            return .success(try await client.list(host: scope.host, level: scope.level, within: patience).servers)
        } catch {
            var failure = CommandFailure(error, address: address)
            failure.host = host.name
            return .failure(failure)
        }
    }
}
