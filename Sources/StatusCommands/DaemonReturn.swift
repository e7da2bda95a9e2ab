// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import Varlink

/// Finds the daemon again after it went away.
@EventLoop
final class DaemonReturn {
    private static let shortestPause = Duration.milliseconds(100)
    /// So long may a daemon be there again that somebody who follows it does not see.
    private static let longestPause = Duration.milliseconds(500)
    /// A daemon that is lost again sooner than this has not really come back.
    private static let steadyTime = Duration.seconds(2)

    private let address: UnixAddress
    /// How long to wait before the next attempt.
    private var pause = DaemonReturn.shortestPause
    private var lastReturn: ContinuousClock.Instant?

    /// A way back to the daemon at `address`.
    init(to address: UnixAddress) { self.address = address }

    /// Tries again, at growing intervals, until the daemon is back.
    ///
    /// - Throws: the last error if the daemon is not back within `limit`; without a limit it tries until the task is cancelled.
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
    /// Why the daemon could not be asked, if that is what failed.
    var ofConnection: VarlinkClientError? {
        if case .connection(let error) = self { error } else { nil }
    }

    /// Whether there was no place for one more connection, as there may be again.
    var isOfFullDaemon: Bool {
        if case .limitReached("connections", _) = self { true } else { false }
    }
}

extension VarlinkClientError {
    /// Whether the daemon has gone, or hangs, and may come back.
    var isOfLostDaemon: Bool { code == .closed || code == .timedOut }
}
