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

    /// With more servers, one stream of all changes is filtered, because a user may have only 128 connections.
    private static let mostConnections = 16

    /// Starts a stream for each server at the same time, each on its own connection.
    func open(_ context: ClientCommand.Context) async throws -> ChangeMerge<HistoryReplies> {
        guard let names = servers.names else {
            return ChangeMerge([HistoryReplies(try await stream(of: nil, limit: limit, on: context.client))])
        }
        if names.count > Self.mostConnections {
            for name in names { try await checkIsKnown(name, to: context.client) }
            return ChangeMerge([
                HistoryReplies(try await stream(of: nil, limit: nil, on: context.client), only: Set(names))
            ])
        }
        var streams: [HistoryReplies] = []
        for name in names {
            let client = streams.isEmpty ? context.client : try await context.address.connect()
            streams.append(HistoryReplies(try await stream(of: name, limit: limit, on: client)))
        }
        return ChangeMerge(streams)
    }

    /// Throws if there is neither a server of this name nor a change of one.
    private func checkIsKnown(_ name: ServerName, to client: MonitorClient) async throws {
        var replies = HistoryReplies(try await stream(of: name, limit: 1, on: client))
        var count = 0
        // The last of the two has no change.
        while count < 3, try await replies.next() != nil { count += 1 }
    }

    @EventLoop
    private func stream(
        of server: ServerName?, limit: Int?, on client: MonitorClient
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

/// The changes of a stream, or only those of some servers.
struct HistoryReplies: AsyncIteratorProtocol {
    private var replies: MethodReplies<HistoryReply, MonitorError>.Iterator
    /// The servers; nil for all.
    private let names: Set<ServerName>?

    init(_ replies: MethodReplies<HistoryReply, MonitorError>, only names: Set<ServerName>? = nil) {
        (self.replies, self.names) = (replies.makeAsyncIterator(), names)
    }

    mutating func next() async throws -> HistoryReply? { try await next(isolation: #isolation) }

    mutating func next(isolation: isolated (any Actor)?) async throws -> HistoryReply? {
        while let reply = try await replies.next(isolation: isolation) {
            guard let names, let change = reply.change else { return reply }
            if let server = change.server, names.contains(server.name) { return reply }
        }
        return nil
    }
}
