// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Varlink

/// Reads the history of one server after another: the newest changes, each time its state has changed, and strips.
@EventLoop
final class TopHistory {
    /// As many changes as the largest terminal may show.
    private static let limit = 500

    private let address: DaemonAddress
    private var client: MonitorClient?
    /// The state of the server at the last reading.
    private var last: ServerState?
    /// The state of the server when it was last described.
    private var described: ServerState?
    let users: UserNames

    init(_ address: DaemonAddress) {
        self.address = address
        users = UserNames(areLocal: address.isSocket)
    }

    /// The changes, the oldest first; nil if they were read since the server's last change, or cannot be read now.
    func changes(of state: ServerState) async -> [Change]? {
        let state = Self.withoutUpdates(state)
        guard state != last else { return nil }
        do {
            let client = try await connected()
            var changes: [Change] = []
            for try await reply in try client.historyReplies(
                server: state.name, limit: Self.limit, selections: false, silence: VarlinkConnection.replyTimeout)
            {
                if let change = reply.change { changes.append(change) }
                // The daemon may send more than it was asked for.
                if changes.count > Self.limit { break }
            }
            last = state
            for user in Set(changes.compactMap(\.user)) { await users.learn(user) }
            return changes
        } catch {
            client = nil
            // Without a history, or while the daemon is away, there is nothing to show. The next event causes another
            // attempt.
            if case .historyUnavailable = error as? MonitorError { last = state }
            return state.name == last?.name ? nil : []
        }
    }

    /// The server with the last run of its check; nil if it was read since its last event, or cannot be read now.
    func description(of state: ServerState) async -> ServerState? {
        guard state != described else { return nil }
        do {
            let server = try await connected().describe(server: state.name.rawValue).server
            described = state
            return server
        } catch {
            client = nil
            return nil
        }
    }

    /// The last run of a server's check, now.
    func check(of server: ServerName) async throws -> CheckRun? {
        try await address.connect(mayStart: false, isRetry: true).describe(server: server.rawValue).server.check
    }

    /// The worst levels in the parts of a strip; nil if they cannot be read now.
    func levels(for request: TopStrips.Request) async -> TopStrips.Answer? {
        do {
            let summary = try await connected().summary(
                server: request.server.name, since: request.since, until: request.until, buckets: request.parts
            )
            return .levels(summary.buckets.map(\.worst))
        } catch {
            if case .historyUnavailable = error as? MonitorError { return .unavailable }
            client = nil
            return nil
        }
    }

    /// Whether the daemon answers; returns when it does, or no longer can.
    func answers() async -> Bool {
        do {
            _ = try await connected().getCursor()
            return true
        } catch {
            client = nil
            return false
        }
    }

    /// The next changes are read even if there was no event.
    func forget() { (last, described) = (nil, nil) }

    /// The state without the members that change with each post and are in no entry.
    private static func withoutUpdates(_ state: ServerState) -> ServerState {
        var state = state
        state.revision = 0
        if let changedAt = state.status?.changedAt { state.status?.updatedAt = changedAt }
        return state
    }

    private func connected() async throws -> MonitorClient {
        if let client { return client }
        let new = try await address.connect(mayStart: false, isRetry: true)
        client = new
        return new
    }
}
