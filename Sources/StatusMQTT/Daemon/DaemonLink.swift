// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
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
    /// How often an idle connection is checked.
    private static let checkTime = Duration.seconds(5)

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

    /// Keeps a connection, until the task is cancelled.
    ///
    /// - Parameter changed: called when the daemon answers, and when it is away.
    func run(_ changed: (_ isPresent: Bool) -> Void) async throws {
        while true {
            do {
                let client = try await connect()
                self.client = client
                changed(true)
                while self.client != nil {
                    try await EventLoop.sleep(for: Self.checkTime)
                    try await client.checkAnswers()
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The next attempt tells whether it is back.
            }
            if client != nil {
                client = nil
                changed(false)
            }
            try await EventLoop.sleep(for: Self.pause)
        }
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
                var replies = try client.watch(.init(all: true, since: cursor)).makeAsyncIterator()
                while let event = try await replies.next()?.event {
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
