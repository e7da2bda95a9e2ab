// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import Varlink

/// Reconnects to a daemon that restarts.
@EventLoop
final class DaemonReturn {
    /// The longest pause between attempts is the longest delay before a restarted daemon is noticed.
    private static let pauses = Duration.milliseconds(100)...Duration.milliseconds(500)
    /// An attempt to reach another host costs a process on both.
    private static let remotePauses = Duration.seconds(1)...Duration.seconds(15)
    /// If the connection is lost again within this time, the daemon keeps failing.
    private static let steadyTime = Duration.seconds(2)

    private let address: DaemonAddress
    private let pauses: ClosedRange<Duration>
    /// The time until the next attempt.
    private var pause: Duration
    private var lastReturn: ContinuousClock.Instant?

    init(to address: DaemonAddress) {
        self.address = address
        pauses = address.isRemote ? Self.remotePauses : Self.pauses
        pause = pauses.lowerBound
    }

    /// Reconnects, with growing pauses between attempts.
    ///
    /// - Throws: the last error if no daemon accepts connections within `limit`; any other error at once; `CancellationError`.
    func wait(within limit: Duration? = nil) async throws -> MonitorClient {
        let deadline = limit.map { ContinuousClock.now + $0 }
        if let lastReturn, ContinuousClock.now - lastReturn < Self.steadyTime {
            try await rest(until: deadline)
        } else {
            pause = pauses.lowerBound
        }
        while true {
            do throws(VarlinkClientError) {
                let client = try await address.connect(
                    mayStart: false, isRetry: true,
                    timeout: Self.time(until: deadline, atMost: address.isRemote ? .seconds(30) : .seconds(5)))
                lastReturn = ContinuousClock.now
                return client
            } catch {
                guard error.isAbsence else { throw error }
                if let deadline, ContinuousClock.now >= deadline { throw error }
            }
            try await rest(until: deadline)
        }
    }

    private func rest(until deadline: ContinuousClock.Instant?) async throws {
        try await EventLoop.sleep(for: Self.time(until: deadline, atMost: pause))
        pause = min(pause * 2, pauses.upperBound)
    }

    private static func time(until deadline: ContinuousClock.Instant?, atMost limit: Duration) -> Duration {
        deadline.map { min(limit, max(.zero, $0 - .now)) } ?? limit
    }
}

extension MonitorError {
    /// The connection's error, if the connection failed.
    var connectionError: VarlinkClientError? {
        if case .connection(let error) = self { error } else { nil }
    }

    /// Whether the limit of connections is reached; a later attempt may succeed.
    var isConnectionLimit: Bool {
        if case .limitReached("connections", _) = self { true } else { false }
    }
}

extension VarlinkClientError {
    /// Whether the daemon disconnected or timed out; a later attempt may succeed.
    var isConnectionLoss: Bool { code == .closed || code == .timedOut }

    /// Whether no daemon accepts connections; one may do so later.
    var isAbsence: Bool { code == .noService || code == .timedOut }
}
