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
    public func watch(_ parameters: MonitorInterface.WatchParameters) throws(MonitorError) -> MethodReplies<
        MonitorInterface.WatchReply, MonitorError
    > {
        try watchReplies(
            server: parameters.server, all: parameters.all, updates: parameters.updates, since: parameters.since,
            mayComeLater: parameters.mayComeLater, host: parameters.host, level: parameters.level,
            silence: Self.longestSilence)
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

extension MonitorInterface.Failure: CustomStringConvertible {
    public var description: String {
        let place = "\(file)\(line.map { ":\($0)" } ?? "")"
        return VisibleText.escape("\(place): \(server.map { "server \($0): " } ?? "")\(reason)")
    }
}
