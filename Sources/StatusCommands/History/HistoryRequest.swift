// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// Which changes a command shows.
struct HistoryRequest {
    var servers: HistoryServers
    var period: HistoryPeriod
    var level: Level?
    var limit: Int?
    /// Whether to show when servers were selected.
    var selections = false

    /// Passes the changes to `take`, in the order in which they were recorded, and counts what it reads for `progress`.
    ///
    /// Changes of several servers are picked from the stream of all, after a check that these servers are known.
    @EventLoop
    func forEach(
        _ context: ClientCommand.Context, _ progress: ProgressIndicator, _ take: (Change) async -> Void
    ) async throws {
        let names = servers.names ?? []
        let one = names.count == 1 ? names[0] : nil
        if one == nil {
            for name in names { for try await _ in try replies(of: name, limit: 1, from: context.client) {} }
        }
        var newest = limit.map { NewestChanges(limit: $0) }
        let limit = one != nil || servers == .all ? limit : nil
        for try await reply in try replies(of: one, limit: limit, from: context.client) {
            await context.mayTakeItsTime()
            guard let change = reply.change else { continue }
            progress.done += 1
            if names.count > 1, !(change.server.map { names.contains($0.name) } ?? false) { continue }
            if newest == nil { await take(change) } else { newest?.append(change) }
        }
        for change in newest?.changes ?? [] { await take(change) }
    }

    /// The entries of a server; nil is all servers and the daemon.
    @EventLoop
    private func replies(
        of server: ServerName?, limit: Int?, from client: MonitorClient
    ) throws(MonitorError) -> MethodReplies<MonitorInterface.HistoryReply, MonitorError> {
        try client.historyReplies(
            server: server, all: server == nil ? true : nil, since: period.since, until: period.until, level: level,
            limit: limit, selections: selections, silence: VarlinkConnection.replyTimeout)
    }

    /// The note if there are no such changes.
    var emptyNote: String {
        let level = level.map {
            $0 == .ok ? " with a level" : " with level \($0.rawValue)\($0 == .critical ? "" : " or worse")"
        }
        let period = period.phrase
        return "no changes of \(servers.phrase)\(level ?? "")\(period.isEmpty ? " in the history" : period)"
    }
}

struct NewestChanges {
    private let limit: Int
    private var kept: [Change] = []

    init(limit: Int) { self.limit = limit }

    mutating func append(_ change: Change) {
        kept.append(change)
        // Not for each change, because removing moves the rest.
        if kept.count / 2 >= limit { kept.removeFirst(kept.count - limit) }
    }

    /// The newest ones, in order.
    var changes: ArraySlice<Change> { kept.suffix(limit) }
}

/// The servers whose history a command shows.
enum HistoryServers: Equatable {
    case all
    case named([ServerName])
    case selected(ServerName)

    /// Whether each line must name its server, because the user has not named just one.
    var mustBeNamed: Bool {
        switch self {
        case .all, .selected: true
        case .named(let names): names.count > 1
        }
    }

    /// Their names; nil for all.
    var names: [ServerName]? {
        switch self {
        case .all: nil
        case .named(let names): names
        case .selected(let name): [name]
        }
    }

    /// The servers that the user named, each once; without a name, the selected one.
    init(_ context: ClientCommand.Context) async throws {
        if context.arguments[HistoryCommand.all] {
            self = .all
            return
        }
        var names: [ServerName] = []
        for text in context.arguments[Options.servers] {
            guard let name = ServerName(text) else { throw MonitorError.noSuchServer(server: text, reason: nil) }
            if !names.contains(name) { names.append(name) }
        }
        self = names.isEmpty ? .selected(try await context.client.describe().server.name) : .named(names)
    }

    /// `db`, `db or web`, or `any server`.
    var phrase: String {
        guard let names, let last = names.last else { return "any server" }
        if names.count == 1 { return last.rawValue }
        return names.dropLast().map(\.rawValue).joined(separator: ", ") + " or \(last)"
    }
}

/// The period that `--since` and `--until` name.
struct HistoryPeriod: Hashable {
    static let sinceOption = Options.time(
        "since",
        help:
            "The beginning, such as -2h, yesterday or “2026-11-25 12:00” (default for totals: 24 h before the end)."
    )
    static let untilOption = Options.time("until", help: "The end (default: now).")

    var since, until: Timestamp?

    init(since: Timestamp? = nil, until: Timestamp? = nil) { (self.since, self.until) = (since, until) }

    /// The period that the user gave, as it is now.
    init(_ arguments: ParsedArguments, now: Timestamp) {
        since = arguments[Self.sinceOption]?.timestamp(now: now, local: .local)
        until = arguments[Self.untilOption]?.timestamp(now: now, local: .local)
    }

    /// Checks that it does not end before it begins.
    func check() throws(InvalidUsage) {
        guard let since, let until, until < since else { return }
        throw InvalidUsage("--since is after --until: \(TimeText.full(since)) is after \(TimeText.full(until))")
    }

    /// The same period without the future, of which no summary knows anything.
    func upTo(_ now: Timestamp) throws(InvalidUsage) -> HistoryPeriod {
        let until = min(until ?? now, now)
        if let since, since > until {
            throw InvalidUsage("--since is in the future: \(TimeText.full(since)); give a time before now")
        }
        return HistoryPeriod(since: since, until: until)
    }

    /// ` since …`, ` until …`, both or nothing.
    var phrase: String {
        (since.map { " since \(TimeText.full($0))" } ?? "") + (until.map { " until \(TimeText.full($0))" } ?? "")
    }
}
