// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// `silence` and `unsilence`.
enum SilenceCommand {
    private static let all = Flag("all", help: "All servers that exist now.")
    private static let list = Flag("list", help: "Show the silences instead.")
    private static let untilOK = Flag("until-ok", help: "End each server's silence when it is ok.")
    private static let until = Options.time("until", help: "The end, such as 06:00, tomorrow or “2026-11-25 12:00”.")
    private static let length = Option<Duration?>(
        "for", value: "TIME", help: "How long, such as 30min, 2h or 7d (default: 1h).", default: nil
    ) { text throws(InvalidValue) in
        guard let span = TimeSpan.parse(text), span > .zero, span <= Silence.longest else {
            throw InvalidValue("must be a time of up to a year, such as 30min, 2h or 7d")
        }
        return span
    }
    private static let reason = Option<String?>(
        "reason", value: "TEXT", help: "Why, for other people.", default: nil
    ) { text throws(InvalidValue) in text }

    static let command = ClientCommand.make(
        "silence", abstract: "Tell nobody of the problems of servers for some time.",
        discussion:
            """
            The servers are followed and shown as before; only alerts are held. When the silence ends, what still \
            differs from what people were told is told.
            """,
        parameters: [Options.servers, all, length, until, untilOK, reason, list], statuses: [.noSuchServer],
        mayBeRepeated: true, isChange: true, validate: validate
    ) { context in
        if context.arguments[list] { return try await showAll(context) }
        let names = context.arguments[Options.servers]
        let end = end(context.arguments, now: TimeText.now)
        let reply = try await context.client.silence(
            servers: names.isEmpty ? nil : names, until: end, reason: context.arguments[reason])
        if context.terminal.isJSON { context.terminal.json(reply) }
        let left = names.filter { !reply.silenced.contains($0) }
        if !left.isEmpty {
            context.terminal.note(
                "\(left.joined(separator: ", ")) \(left.count == 1 ? "is" : "are") ok now; give --for or --until")
        }
        if reply.silenced.isEmpty { return left.isEmpty ? .done : .failed }
        if !context.terminal.isJSON {
            let servers = reply.silenced.joined(separator: ", ")
            context.terminal.line("silenced until \(end.map { TimeText.full($0) } ?? "ok"): \(servers)")
        }
        return .done
    }

    static let endCommand = ClientCommand.make(
        "unsilence", abstract: "End the silences of servers.",
        parameters: [Argument<[String]>.list("name", help: "The server's name.", completion: silenced), all],
        statuses: [.noSuchServer], mayBeRepeated: true, isChange: true, validate: checkServers
    ) { context in
        let names = context.arguments[Options.servers]
        let reply = try await context.client.unsilence(servers: names.isEmpty ? nil : names)
        if context.terminal.isJSON {
            context.terminal.json(reply)
        } else if reply.unsilenced.isEmpty {
            context.terminal.note("none of them was silenced")
        }
        return .done
    }

    private static let silenced = Completion.servers { $0.silence != nil }

    private static func checkServers(_ arguments: ParsedArguments) throws(InvalidUsage) {
        guard arguments[Options.servers].isEmpty == arguments[all] else {
            throw InvalidUsage("give server names or --all\(arguments[all] ? ", not both" : "")")
        }
    }

    private static func validate(_ arguments: ParsedArguments) throws(InvalidUsage) {
        let ends = [arguments[length] != nil, arguments[until] != nil, arguments[untilOK]].count { $0 }
        if arguments[list] {
            guard ends == 0, arguments[reason] == nil, !arguments[all], arguments[Options.servers].isEmpty else {
                throw InvalidUsage("--list takes no other options, and no servers")
            }
            return
        }
        try checkServers(arguments)
        if ends > 1 { throw InvalidUsage("give one of --for, --until and --until-ok") }
        let now = TimeText.now
        if let end = end(arguments, now: now), end <= now {
            throw InvalidUsage("--until has passed: \(TimeText.full(end))")
        }
    }

    /// When the silence ends; nil for when each server is ok.
    private static func end(_ arguments: ParsedArguments, now: Timestamp) -> Timestamp? {
        if arguments[untilOK] { return nil }
        if let until = arguments[until] { return until.upcoming(now: now, local: .local) }
        return now + (arguments[length] ?? .seconds(3600))
    }

    private static func showAll(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let servers = try await context.client.list().servers.filter { $0.silence != nil }
        if context.terminal.isJSON {
            context.terminal.json { $0.member("servers", servers) }
        } else if servers.isEmpty {
            context.terminal.note("no server is silenced")
        }
        let users = UserNames(areLocal: context.address.isSocket)
        for case let (server, silence?) in servers.map({ ($0, $0.silence) }) where !context.terminal.isJSON {
            let user = if let user = silence.user { await users.name(of: user) } else { String?.none }
            context.terminal.line("\(server.name): \(ServerText.silence(silence, by: user))")
        }
        return .done
    }
}
