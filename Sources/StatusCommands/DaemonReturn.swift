// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import Varlink

/// Reconnects to a daemon that restarts.
@EventLoop
final class DaemonReturn {
    private static let shortestPause = Duration.milliseconds(100)
    /// The longest time that a follower may miss of a daemon that has returned.
    private static let longestPause = Duration.milliseconds(500)
    /// A daemon that is lost again within this time keeps failing.
    private static let steadyTime = Duration.seconds(2)

    private let address: UnixAddress
    /// The time until the next attempt.
    private var pause = DaemonReturn.shortestPause
    private var lastReturn: ContinuousClock.Instant?

    init(to address: UnixAddress) { self.address = address }

    /// Tries to connect, at growing intervals, until the daemon is back.
    ///
    /// - Throws: the last error if the daemon is not back within `limit`. Without a limit, it tries until the task is cancelled.
    func wait(within limit: Duration? = nil) async throws -> MonitorClient {
        let deadline = limit.map { ContinuousClock.now + $0 }
        if let lastReturn, ContinuousClock.now - lastReturn < Self.steadyTime {
            try await rest(until: deadline)
        } else {
            pause = Self.shortestPause
        }
        while true {
            do throws(VarlinkClientError) {
                let client = try await MonitorClient.connect(
                    to: address, mayStart: false, timeout: Self.time(until: deadline, atMost: .seconds(5)))
                lastReturn = ContinuousClock.now
                return client
            } catch {
                guard error.code == .noService || error.code == .timedOut else { throw error }
                if let deadline, ContinuousClock.now >= deadline { throw error }
            }
            try await rest(until: deadline)
        }
    }

    private func rest(until deadline: ContinuousClock.Instant?) async throws {
        try await EventLoop.sleep(for: Self.time(until: deadline, atMost: pause))
        pause = min(pause * 2, Self.longestPause)
    }

    private static func time(until deadline: ContinuousClock.Instant?, atMost limit: Duration) -> Duration {
        deadline.map { min(limit, max(.zero, $0 - .now)) } ?? limit
    }
}

extension MonitorError {
    /// The error of the connection, if that failed.
    var ofConnection: VarlinkClientError? {
        if case .connection(let error) = self { error } else { nil }
    }

    /// Whether the limit of connections is reached, which may pass.
    var isOfFullDaemon: Bool {
        if case .limitReached("connections", _) = self { true } else { false }
    }
}

extension VarlinkClientError {
    /// Whether the daemon disconnected or hangs, and may return.
    var isOfLostDaemon: Bool { code == .closed || code == .timedOut }
}
