// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// Shows the totals of `history --summary`.
struct HistorySummary {
    let context: ClientCommand.Context
    let servers: HistoryServers
    let period: HistoryPeriod
    /// The number of parts; nil for as many as fit.
    let parts: Int?

    func run() async throws {
        let terminal = context.terminal
        let text = SummaryText(style: terminal.style, isUTF8: terminal.charset.isUTF8, width: terminal.width)
        let parts = parts ?? SummaryText.parts(width: terminal.isJSON ? nil : terminal.width)
        var isFirst = true
        // Even if one of several servers does not exist: the legend explains the lines that were written.
        defer { if !isFirst { for line in text.legend { terminal.line(line) } } }
        for name in try await names() {
            let reply = try await reply(of: name, since: period.since, parts)
            if terminal.isJSON {
                terminal.json(reply)
                continue
            }
            var summary = try StatusSummary(reply)
            if let beginning = summary.knownSince, beginning < summary.until {
                summary = try StatusSummary(await self.reply(of: name, since: beginning, parts))
                summary.knownSince = beginning
            }
            if !isFirst { terminal.line("") }
            for line in text.lines(summary) { terminal.line(line) }
            isFirst = false
        }
        if isFirst { terminal.note("no servers yet") }
    }

    private func reply(of name: ServerName, since: Timestamp?, _ parts: Int) async throws
        -> MonitorInterface.SummaryReply
    {
        let reply = try await context.client.summary(server: name, since: since, until: period.until, buckets: parts)
        await context.mayTakeItsTime()
        return reply
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
    }
}
