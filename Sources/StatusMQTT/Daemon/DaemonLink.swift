// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusConfiguration
import StatusInterface
import StatusModel
import Varlink

/// Connections to the daemon, which are made again whenever they end.
///
/// They never start a daemon: an administrator may have stopped it.
@EventLoop
final class DaemonLink {
    private static let pause = Duration.milliseconds(250)
    private static let attemptTime = Duration.seconds(5)

    private let address: VarlinkAddress
    /// The connection for calls; nil while the daemon is away.
    private(set) var client: MonitorClient?

    /// - Throws: ``IOError`` if `STATUSD_ADDRESS` is invalid.
    nonisolated init() throws(IOError) {
        let standard = try MonitorAddress.standard(
            environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
        guard case .unix(.path(let path), _) = standard else {
            address = standard
            return
        }
        // systemd does not listen on this one.
        address = .unix(.path(MonitorAddress.live(path)))
    }

    /// Connects, and waits for an answer.
    func connect() async throws -> MonitorClient {
        let client = try await MonitorClient.connect(to: address, timeout: Self.attemptTime)
        try await client.checkAnswers(within: Self.attemptTime)
        return client
    }

    /// Keeps connections, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - answered: called when the daemon answers, with the section of its configuration, and again when that has
    ///     changed.
    ///   - away: called each time that the connection is lost, or cannot be made.
    /// - Throws: what `answered` throws of ``BridgeSettings/Failure``, and `CancellationError`.
    func run(
        answered: (MonitorInterface.MQTT?) async throws -> Void, away: (_ reason: any Error) -> Void
    ) async throws {
        while true {
            var reason: any Error = VarlinkClientError(.closed, "the daemon has ended the stream")
            do {
                let calls = try await connect()
                // The stream occupies its connection. It also tells when the daemon ends.
                var sections = try await connect().getMQTTReplies().makeAsyncIterator()
                while let section = try await sections.next() {
                    client = calls
                    try await answered(section.mqtt)
                }
            } catch let error as BridgeSettings.Failure {
                throw error
            } catch {
                try Task.checkCancellation()
                reason = error
            }
            client = nil
            away(reason)
            try await EventLoop.sleep(for: Self.pause)
        }
    }

    /// Returns the section of the daemon's configuration.
    func settings() async throws -> MQTTSettings? {
        var sections = try await connect().getMQTTReplies().makeAsyncIterator()
        return try await sections.next()?.mqtt.flatMap { MQTTSettings($0) }
    }

    /// Follows all servers, and continues after a restart of the daemon, until the task is cancelled or `take` is done.
    ///
    /// - Parameters:
    ///   - take: handles an event; returns false to end.
    ///   - away: called once when the daemon has been away for too long.
    func watch(_ take: (Event) -> Bool, away: () -> Void) async throws {
        var cursor: Cursor?
        var lostAt: UInt64?
        var isAway = false
        while true {
            do {
                let client = try await connect()
                var events = try client.watch(.init(all: true, since: cursor)).makeAsyncIterator()
                while let event = try await events.next() {
                    // What was published before is of an earlier connection then.
                    if isAway { return }
                    let isNew = event.kind == .snapshot || event.kind == .gap || event.cursor.epoch != cursor?.epoch
                    if lostAt != nil, cursor != nil, isNew { return }
                    (cursor, lostAt) = (event.cursor, nil)
                    guard take(event) else { return }
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                try Task.checkCancellation()
            }
            let now = nanoseconds(of: CLOCK_BOOTTIME)
            let since = lostAt ?? now
            lostAt = since
            if !isAway, now - since >= Self.longestAbsence {
                isAway = true
                away()
            }
            try await EventLoop.sleep(for: Self.pause)
        }
    }

    /// How long a restart of the daemon may take, in nanoseconds.
    private static let longestAbsence: UInt64 = 10_000_000_000
}

extension MQTTSettings {
    /// Reads the section again, which the daemon has checked; nil if this program is older than the daemon.
    init?(_ section: MonitorInterface.MQTT) {
        let brokers = section.broker.compactMap { MQTTBroker($0) }
        let follow = section.follow.compactMap { FollowPattern($0) }
        guard !brokers.isEmpty, brokers.count == section.broker.count, follow.count == section.follow.count else {
            return nil
        }
        self.init(brokers: brokers)
        (host, publish, self.follow, user) = (section.host, section.publish, follow, section.user)
        discovery = section.discovery.flatMap { Discovery(rawValue: $0) }
    }
}

// MARK: - The calls of a follower

extension MonitorClient {
    /// Tells the daemon what another host says; only a connection that is lost throws.
    ///
    /// - Returns: why the daemon does not take it; nil if it does.
    func send(_ report: FollowReport) async throws(VarlinkClientError) -> MonitorError? {
        do throws(MonitorError) {
            switch report {
            case .host(let host, let presence, let difference):
                try await reportHost(
                    host: host, state: presence?.state, epoch: presence?.epoch ?? 0, machine: presence?.machine,
                    version: presence?.version, clockDifference: difference, within: nil)
            case .server(let host, let name, let epoch, let state):
                try await reportServer(host: host, name: name, epoch: epoch, server: state, within: nil)
            }
            return nil
        } catch {
            if case .connection(let error) = error { throw error }
            return error
        }
    }
}
