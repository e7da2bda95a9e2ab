// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// Shows the totals of `history --summary`, or the graphs of `history --graph`.
struct HistorySummary {
    /// What is shown of each server.
    enum Form {
        /// The totals, with a timeline of this many parts; nil for as many as fit.
        case totals(parts: Int?)
        /// A graph of the levels and of a value; an empty name is the first value of the server.
        case graph(value: String)
    }

    let context: ClientCommand.Context
    let servers: HistoryServers
    let period: HistoryPeriod
    let form: Form

    @EventLoop
    func run() async throws {
        let terminal = context.terminal
        let text = SummaryText(style: terminal.style, isUTF8: terminal.charset.isUTF8, width: terminal.width)
        let graph = GraphText(summaries: text)
        var isFirst = true
        // Even if one of several servers does not exist: the legend explains the lines that were written.
        defer { if !isFirst { for line in text.legend { terminal.line(line) } } }
        for name in try await names() {
            let progress = ProgressIndicator(terminal, environment: ProcessEnvironment.current)
            let reply = try await progress({ _ in "Reading the history of \(name)" }) {
                try await self.reply(of: name, since: period.since)
            }
            if terminal.isJSON {
                terminal.json(reply)
                continue
            }
            var summary = try StatusSummary(reply)
            if let beginning = summary.knownSince, beginning < summary.until {
                summary = try StatusSummary(await self.reply(of: name, since: beginning))
                summary.knownSince = beginning
            }
            if !isFirst { terminal.line("") }
            let lines = if case .graph = form { graph.lines(summary) } else { text.lines(summary) }
            for line in lines { terminal.line(line) }
            isFirst = false
        }
        if isFirst { terminal.note("no servers yet") }
    }

    private func reply(of name: ServerName, since: Timestamp?) async throws -> MonitorInterface.SummaryReply {
        let width = context.terminal.isJSON ? nil : context.terminal.width
        let (parts, value) =
            switch form {
            case .totals(let parts): (parts ?? SummaryText.parts(width: width), String?.none)
            case .graph(let value): (GraphText.parts(width: width), value)
            }
        let reply = try await context.client.summary(
            server: name, since: since, until: period.until, buckets: parts, value: value)
        await context.mayTakeItsTime()
        if let value, !value.isEmpty { try check(value, of: name, reply.measured?.names ?? []) }
        return reply
    }

    /// Checks that the user named a value that the server has.
    private func check(_ value: String, of server: ServerName, _ names: [String]) throws {
        guard !names.contains(value) else { return }
        let known = names.prefix(MeasuredValue.maximumCount).map {
            VisibleText.excerpt($0, bytes: MeasuredValue.maximumBytes)
        }
        let suggestion =
            known.isEmpty ? "nothing was measured in this time" : "it has \(known.joined(separator: ", "))"
        throw CommandFailure(
            .failed, "NoSuchValue",
            "no value “\(VisibleText.escape(value))” of \(server) in the history; \(suggestion)")
    }

    private func names() async throws -> [ServerName] {
        if let names = servers.names { return names }
        return try await context.client.list().servers.map(\.name)
    }
}

extension StatusSummary {
    fileprivate init(_ reply: MonitorInterface.SummaryReply) throws {
        guard let server = ServerName(reply.server), let since = Timestamp(reply.since),
            let until = Timestamp(reply.until), reply.buckets.count <= SummaryText.mostParts
        else { throw VarlinkClientError(.malformedReply, "the daemon sent an invalid summary") }
        self.init(server: server, since: since, until: until, buckets: reply.buckets)
        knownSince = reply.knownSince.flatMap { Timestamp($0) }
        measured = reply.measured.map { value in
            let (name, unit) = (
                VisibleText.excerpt(value.name, bytes: MeasuredValue.maximumBytes),
                VisibleText.excerpt(value.unit, bytes: MeasuredValue.maximumBytes)
            )
            return SummaryValue(name: name, unit: unit, names: [])
        }
    }
}
