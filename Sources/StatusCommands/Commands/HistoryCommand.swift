// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusSupport

enum HistoryCommand {
    static let all = Flag("all", help: "Show every server, and when the daemon started and stopped.")
    private static let level = Options.level(
        help: "Only this level or worse ones, in the order ok, warning, unknown, critical.")
    private static let lines = Options.number(
        "lines", letter: "n", in: 1 ... .max, help: "Only this many changes, the newest (default: all).")
    private static let selections = Flag("selections", help: "Also show when servers were selected.")
    private static let summary = Flag(
        "summary", help: "Show how long each level lasted, the availability and a timeline.")
    private static let buckets = Options.number(
        "buckets", in: 1...SummaryText.mostParts,
        help: "With --summary: divide the period into this many parts (default: as many as fit; 60 without a terminal)."
    )
    private static let graph = Flag("graph", help: "Draw the levels and a value that was measured over time.")
    private static let value = Option<String?>(
        "value", value: "NAME", help: "With --graph: draw this value (default: the first that the server has).",
        default: nil
    ) { text throws(InvalidValue) in
        if text.isEmpty { throw InvalidValue("must not be empty") }
        return text
    }

    static let command = ClientCommand.make(
        "history",
        abstract: "Show past changes, their totals, or a graph.",
        discussion:
            """
            Without a name, it shows those of the selected server. TIME is as in systemd.time(7), and local unless \
            it ends in UTC, Z or an offset.
            """,
        parameters: [
            Options.servers, all, HistoryPeriod.sinceOption, HistoryPeriod.untilOption, level, lines, selections,
            summary, buckets, graph, value,
        ],
        statuses: [.noSuchServer], mayBeRepeated: true, validate: validate, run: run)

    private static func validate(_ arguments: ParsedArguments) throws(InvalidUsage) {
        if arguments[all], !arguments[Options.servers].isEmpty {
            throw InvalidUsage("give server names or --all, not both")
        }
        let period = HistoryPeriod(arguments, now: TimeText.now)
        try period.check()
        if arguments[summary], arguments[graph] { throw InvalidUsage("give --summary or --graph, not both") }
        if arguments[buckets] != nil, !arguments[summary] { throw InvalidUsage("--buckets requires --summary") }
        if arguments[value] != nil, !arguments[graph] { throw InvalidUsage("--value requires --graph") }
        guard arguments[summary] || arguments[graph] else { return }
        let form = arguments[summary] ? "--summary" : "--graph"
        if arguments[level] != nil { throw InvalidUsage("give \(form) or --level, not both") }
        if arguments[lines] != nil { throw InvalidUsage("give \(form) or --lines, not both") }
        if arguments[selections] { throw InvalidUsage("give \(form) or --selections, not both") }
        _ = try period.upTo(TimeText.now)
    }

    private static func run(_ context: ClientCommand.Context) async throws -> ExitStatus {
        let arguments = context.arguments
        let now = TimeText.now
        let period = HistoryPeriod(arguments, now: now)
        let servers = try await HistoryServers(context)
        if arguments[summary] || arguments[graph] {
            let form: HistorySummary.Form =
                arguments[summary] ? .totals(parts: arguments[buckets]) : .graph(value: arguments[value] ?? "")
            try await HistorySummary(
                context: context, servers: servers, period: try period.upTo(now), form: form
            ).run()
        } else {
            let request = HistoryRequest(
                servers: servers, period: period, level: arguments[level], limit: arguments[lines],
                selections: arguments[selections])
            try await show(request, context)
        }
        // The history lacks changes that were not saved.
        await context.warn()
        return .done
    }

    @EventLoop
    private static func show(_ request: HistoryRequest, _ context: ClientCommand.Context) async throws {
        var terminal = context.terminal
        terminal.endsWithReader = true
        let progress = ProgressIndicator(terminal, environment: ProcessEnvironment.current)
        var writer = HistoryWriter(
            terminal, namesServers: request.servers.mustBeNamed, namesUsers: context.address.isSocket, progress)
        do {
            try await progress({ "Reading the history: \($0) \($0 == 1 ? "line" : "lines")" }) {
                try await request.forEach(context, progress) { await writer.write($0) }
            }
        } catch  where writer.hasWritten {
            // The command must not be repeated, because some changes were written.
            throw CommandFailure(error, address: context.address)
        }
        if !writer.hasWritten { terminal.note(request.emptyNote) }
        writer.writeHint(request.servers, daemon: context.address)
    }
}
