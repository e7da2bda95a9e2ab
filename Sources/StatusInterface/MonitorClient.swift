// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import StatusModel
public import Varlink

/// A client of the daemon: the methods of `org.statusd.monitor` as functions.
///
/// Each throws a `VarlinkError` for what the daemon answers and a `VarlinkClientError` for all else.
@EventLoop
public final class MonitorClient {
    private let connection: VarlinkConnection

    private init(_ connection: VarlinkConnection) { self.connection = connection }

    /// Connects to the daemon at `address`, through the privileged socket if this process may use it.
    ///
    /// - Parameters:
    ///   - mayStart: whether connecting may start the daemon.
    ///   - timeout: how long to wait for room in the daemon's backlog.
    public nonisolated static func connect(
        to address: UnixAddress, mayStart: Bool = true, timeout: Duration = .seconds(5)
    ) async throws(VarlinkClientError) -> MonitorClient {
        let places = MonitorAddress.places(of: address, mayStart: mayStart)
        for place in places.dropLast() {
            if let connection = try? await VarlinkConnection.connect(to: place, timeout: .zero) {
                return await MonitorClient(connection)
            }
        }
        return await MonitorClient(try await VarlinkConnection.connect(to: places.last ?? address, timeout: timeout))
    }

    /// All servers, by name.
    public func list() async throws -> [ServerState] {
        try await connection.call(MonitorInterface.qualified("List"), returning: ListReply.self).servers
    }

    /// One server; the selected one where none is named.
    public func describe(_ server: String?) async throws -> ServerState {
        try await connection.call(
            MonitorInterface.qualified("Describe"), { $0.member("server", server) }, returning: DescribeReply.self
        ).server
    }

    /// Selects a server, or none.
    public func select(_ server: String?) async throws -> SelectReply {
        try await connection.call(
            MonitorInterface.qualified("Select"), { $0.member("server", server) }, returning: SelectReply.self)
    }

    /// Posts a status; returns the revision of the event.
    public func post(_ text: String, level: Level?, to server: String) async throws -> Int {
        try await connection.call(
            MonitorInterface.qualified("Post"),
            { writer in
                writer.member("server", server)
                writer.member("text", text)
                writer.member("level", level)
            }, returning: PostReply.self
        ).revision
    }

    /// Removes a server that was added by a post.
    public func forget(_ server: String) async throws {
        let _: NoReply = try await connection.call(
            MonitorInterface.qualified("Forget"), { $0.member("server", server) })
    }

    /// Loads a server's status now; returns the event at the end of it.
    ///
    /// The load takes as long as it takes; that it began is told at once.
    public func refresh(_ server: String?) async throws -> Event {
        var last: Event?
        for try await reply in try refreshing(server) { last = reply.event }
        guard let last else { throw VarlinkClientError(.malformedReply, "no event came of the refresh") }
        return last
    }

    /// Loads a server's status now, and tells of the beginning and of the end.
    ///
    /// The stream takes the connection for itself.
    public func refreshing(_ server: String?) throws -> VarlinkReplies<EventReply> {
        try connection.stream(
            MonitorInterface.qualified("Refresh"), { $0.member("server", server) }, of: EventReply.self)
    }

    /// Returns if the daemon answers calls at all; ``wait(_:)`` without a time limit would wait for ever for one that does not.
    public func checkAnswers() async throws {
        let _: NoReply = try await connection.call("org.varlink.service.GetInfo")
    }

    /// Waits until a server has a level or a text.
    public func wait(_ parameters: WaitParameters) async throws -> ServerState {
        try await connection.call(
            MonitorInterface.qualified("Wait"), { parameters.writeMembers(to: &$0) }, returning: DescribeReply.self,
            timeout: parameters.timeout.map { $0 + Self.grace }
        ).server
    }

    /// How long the daemon may take to say that the time is over.
    private static let grace = Duration.seconds(1)
    /// The daemon says every thirty seconds that a stream is alive.
    private static let longestSilence = Duration.seconds(90)

    /// Has the daemon read its configuration again.
    ///
    /// - Parameter dryRun: whether it only tells what that would change. A daemon that does not know this parameter refuses the call.
    public func reload(dryRun: Bool = false) async throws -> ReloadReply {
        try await connection.call(
            MonitorInterface.qualified("Reload"), { $0.member("dryRun", dryRun ? true : nil) },
            returning: ReloadReply.self)
    }

    /// Follows servers.
    ///
    /// The stream takes the connection for itself.
    public func watch(_ parameters: WatchParameters) throws -> VarlinkReplies<EventReply> {
        try connection.stream(
            MonitorInterface.qualified("Watch"), { parameters.writeMembers(to: &$0) }, of: EventReply.self,
            silence: Self.longestSilence)
    }
}
