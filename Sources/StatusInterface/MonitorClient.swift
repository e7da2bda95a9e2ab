// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import StatusModel
public import Varlink

extension MonitorClient {
    /// How long the daemon may take to report that a wait timed out.
    private static let grace = Duration.seconds(1)
    /// The maximum time between two events; the daemon sends one at least every 30 s.
    private static let longestSilence = Duration.seconds(90)

    /// Connects to the daemon at `address`.
    ///
    /// - Parameters:
    ///   - mayStart: whether connecting may start the daemon.
    ///   - timeout: how long to wait for space in the daemon's backlog.
    ///   - errorOutput: standard error of a program; nil for standard error of this process.
    public nonisolated static func connect(
        to address: VarlinkAddress, mayStart: Bool = true, timeout: Duration = .seconds(5),
        errorOutput: OwnedDescriptor? = nil
    ) async throws(VarlinkClientError) -> MonitorClient {
        var address = address
        if case .unix(let socket, _) = address {
            address = .unix(MonitorAddress.socket(of: socket, mayStart: mayStart))
        }
        return MonitorClient(
            try await VarlinkConnection.connect(to: address, timeout: timeout, errorOutput: errorOutput))
    }

    /// Checks a server now; returns the event at the end of the check.
    ///
    /// Only the event at the start has a timeout, not the check itself.
    public func refreshed(server: String?) async throws(MonitorError) -> Event {
        var last: Event?
        for try await reply in try refreshReplies(server: server) { last = reply.event }
        guard let last else {
            throw .connection(VarlinkClientError(.malformedReply, "the daemon sent no event for the refresh"))
        }
        return last
    }

    /// Follows servers; the stream occupies the connection.
    public func watch(_ parameters: MonitorInterface.WatchParameters) throws(MonitorError) -> MonitorEvents {
        MonitorEvents(
            replies: try watchReplies(
                server: parameters.server, all: parameters.all, updates: parameters.updates, since: parameters.since,
                mayComeLater: parameters.mayComeLater, host: parameters.host, level: parameters.level,
                silence: Self.longestSilence))
    }

    /// Lists servers, sorted by name.
    ///
    /// - Parameters:
    ///   - host: only the servers of this host.
    ///   - level: only servers with this level or a worse one.
    public func servers(host: ServerName?, level: Level?) async throws(MonitorError) -> [ServerState] {
        var servers: [ServerState] = []
        var replies = try listReplies(host: host, level: level).makeAsyncIterator()
        while let reply = try await replies.next() { try MonitorEvents.add(reply.servers, to: &servers) }
        return servers
    }

    /// Waits until a server has a level or a text; without a timeout, it waits indefinitely.
    public func wait(
        server: ServerName, level: Level?, text: String?, timeout: Duration?, since: Cursor? = nil
    ) async throws(MonitorError) -> ServerState {
        try await wait(
            server: server, level: level, text: text, timeoutMilliseconds: timeout.map { Int($0 / .milliseconds(1)) },
            since: since,
            within: timeout.map { $0 + Self.grace }
        ).server
    }

    /// Checks that the daemon answers calls.
    ///
    /// A wait without a timeout would not notice a daemon that hangs.
    public func checkAnswers(within timeout: Duration = VarlinkConnection.replyTimeout) async throws(MonitorError) {
        _ = try await connection.call(
            "org.varlink.service.GetInfo", NoMembers(), returning: NoMembers.self, failure: MonitorError.self,
            timeout: timeout)
    }
}

/// The events of a stream; a snapshot that has come in several is one.
public struct MonitorEvents: AsyncSequence, Sendable {
    /// More servers than a daemon can have; another peer must not make a client use much memory.
    private static let mostServers = 500_000

    fileprivate let replies: MethodReplies<MonitorInterface.WatchReply, MonitorError>

    fileprivate static func add(_ more: [ServerState], to servers: inout [ServerState]) throws(MonitorError) {
        servers += more
        guard servers.count <= mostServers else {
            throw .connection(VarlinkClientError(.malformedReply, "more than \(mostServers) servers"))
        }
    }

    /// Creates an iterator over the remaining events.
    public func makeAsyncIterator() -> Iterator { Iterator(replies: replies.makeAsyncIterator()) }

    /// The iterator of the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var replies: MethodReplies<MonitorInterface.WatchReply, MonitorError>.Iterator

        /// Returns the next event, or nil after the last one.
        public mutating func next() async throws(MonitorError) -> Event? { try await next(isolation: #isolation) }

        /// Returns the next event, or nil after the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(MonitorError) -> Event? {
            var servers: [ServerState]?
            while let event = try await replies.next(isolation: actor)?.event {
                guard servers != nil || event.continues else { return event }
                var joined = servers ?? []
                servers = nil
                try MonitorEvents.add(event.servers ?? [], to: &joined)
                if !event.continues { return Event(kind: event.kind, cursor: event.cursor, servers: joined) }
                servers = joined
            }
            return nil
        }
    }
}

extension MonitorInterface.Failure: CustomStringConvertible {
    public var description: String {
        let place = "\(file)\(line.map { ":\($0)" } ?? "")"
        return VisibleText.escape("\(place): \(server.map { "server \($0): " } ?? "")\(reason)")
    }
}
