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

    /// With more servers, their changes are read one after the other: a user may have 128 connections.
    private static let mostConnections = 16

    /// Starts a stream for each server at the same time, each on its own connection.
    func open(_ context: ClientCommand.Context) async throws -> ChangeMerge<HistoryReplies> {
        guard let names = servers.names else {
            return ChangeMerge([.stream(try await stream(of: nil, on: context.client).makeAsyncIterator())])
        }
        var streams: [HistoryReplies] = []
        for name in names {
            if names.count > Self.mostConnections {
                var read: [HistoryReply] = []
                for try await reply in try await stream(of: name, on: context.client) { read.append(reply) }
                streams.append(.read(read[...]))
            } else {
                let isFirst = streams.isEmpty
                let client = isFirst ? context.client : try await context.address.connect()
                streams.append(.stream(try await stream(of: name, on: client).makeAsyncIterator()))
            }
        }
        return ChangeMerge(streams)
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

/// The changes of a server: as they come, or read before.
enum HistoryReplies: AsyncIteratorProtocol {
    case stream(MethodReplies<HistoryReply, MonitorError>.Iterator)
    case read(ArraySlice<HistoryReply>)

    mutating func next() async throws -> HistoryReply? { try await next(isolation: #isolation) }

    mutating func next(isolation: isolated (any Actor)?) async throws -> HistoryReply? {
        switch self {
        case .stream(var replies):
            defer { self = .stream(replies) }
            return try await replies.next(isolation: isolation)
        case .read(var replies):
            defer { self = .read(replies) }
            return replies.popFirst()
        }
    }
}
