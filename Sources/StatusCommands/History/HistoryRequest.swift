// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Varlink

/// Which changes a command shows.
struct HistoryRequest {
    var servers: HistoryServers
    var period: HistoryPeriod
    var level: Level?
    var limit: Int?

    typealias Streams = ChangeMerge<MethodReplies<HistoryReply, MonitorError>.Iterator>

    /// Starts a stream for each server at the same time, each on its own connection.
    func open(_ context: ClientCommand.Context) async throws -> Streams {
        guard let names = servers.names else {
            return Streams([try await stream(of: nil, on: context.client).makeAsyncIterator()])
        }
        var streams: [MethodReplies<HistoryReply, MonitorError>.Iterator] = []
        for name in names {
            let isFirst = streams.isEmpty
            let client = isFirst ? context.client : try await MonitorClient.connect(to: context.address)
            streams.append(try await stream(of: name, on: client).makeAsyncIterator())
        }
        return Streams(streams)
    }

    @EventLoop
    private func stream(
        of server: ServerName?, on client: MonitorClient
    ) throws(MonitorError) -> MethodReplies<HistoryReply, MonitorError> {
        try client.historyReplies(
            server: server, all: server == nil ? true : nil, since: period.since, until: period.until, level: level,
            limit: limit, silence: VarlinkConnection.replyTimeout)
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
