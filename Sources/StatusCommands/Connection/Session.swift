// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import Varlink

/// The connection of a command to its daemon, which is made again when it is lost.
///
/// Only the first connection may start the daemon: it may be away because an administrator has stopped it.
final class Session {
    /// How long a session tries to get a lost connection back.
    enum Persistence {
        case none
        /// As long as a restart takes, and only if the daemon has closed the connection.
        case restart
        case until(ContinuousClock.Instant)
        /// Indefinitely, until it fails for a reason other than a lost connection.
        case unlimited
        /// Indefinitely, whatever fails, as a status bar must.
        case whateverFails
    }

    /// A change of the connection that a session reports.
    enum Notice {
        /// The connection is lost, or the daemon refuses to answer; once until it is back.
        case lost(MonitorError)
        /// The daemon has been away for longer than a restart takes.
        case stillAway
        /// The daemon has answered again.
        case back
    }

    private enum State {
        /// The connection was never lost, or the daemon has answered since. The caller may have made the first one.
        case present(first: MonitorClient?)
        /// The connection was lost for a reason. It is given up at `end`, and at `notice` the user is told, if not yet.
        case away(MonitorError, end: ContinuousClock.Instant?, notice: ContinuousClock.Instant?)
    }

    /// If the daemon is away for longer, it is not just being restarted.
    static let restartTime = Duration.seconds(5)
    /// A daemon that disconnects again within this time keeps failing.
    private static let steadyTime = Duration.seconds(2)

    let address: DaemonAddress
    private let persistence: Persistence
    /// Whether ssh(1) may ask the user for the first connection.
    private let mayAsk: Bool
    /// The pauses before attempts; each one is twice as long as the one before.
    private let pauses: ClosedRange<Duration>
    private let attemptTime: Duration
    private var pause: Duration
    private var state: State
    private var lastConnected = ContinuousClock.now

    init(
        to address: DaemonAddress, _ persistence: Persistence, continuing client: MonitorClient? = nil,
        mayAsk: Bool = true
    ) {
        self.address = address
        self.persistence = persistence
        self.mayAsk = mayAsk
        // The longest pause delays the notice that a daemon is back. An attempt to reach another host costs a process
        // on both.
        pauses = address.isRemote ? .milliseconds(500) ... .seconds(15) : .milliseconds(100) ... .milliseconds(500)
        attemptTime = address.isRemote ? .seconds(30) : .seconds(5)
        pause = pauses.lowerBound
        state = .present(first: client)
    }

    /// Whether the connection was lost, and the daemon has not answered since.
    var isAway: Bool {
        if case .away = state { true } else { false }
    }

    /// Runs `body` with the connection, and again with a new one each time it is lost.
    ///
    /// - Parameters:
    ///   - limit: how long the first connection may take; nil for the default of ``DaemonAddress/connect``.
    ///   - tell: receives each change of the connection.
    ///   - body: uses the connection, and calls ``hasAnswered(_:)`` when the daemon has answered.
    /// - Throws: what ends it, by its persistence; what `tell` and `body` throw; `CancellationError`.
    func run<Result>(
        within limit: Duration? = nil, _ tell: (Notice) async throws -> Void = { _ in },
        _ body: (MonitorClient) async throws -> Result
    ) async throws -> Result {
        while true {
            do {
                return try await body(try await connect(limit, tell))
            } catch let error as MonitorError {
                try await lose(error, tell)
            } catch let error as VarlinkClientError {
                try await lose(.connection(error), tell)
            }
        }
    }

    /// The daemon has answered on the present connection; a daemon that is stopping may still accept one.
    func hasAnswered(_ tell: (Notice) async throws -> Void = { _ in }) async throws {
        guard isAway else { return }
        state = .present(first: nil)
        try await tell(.back)
    }

    // MARK: -

    private func connect(_ limit: Duration?, _ tell: (Notice) async throws -> Void) async throws -> MonitorClient {
        if case .present(let first) = state {
            return if let first { first } else { try await address.connect(isRetry: !mayAsk, timeout: limit) }
        }
        if .now - lastConnected > Self.steadyTime { pause = pauses.lowerBound }
        while true {
            let end = try await timeForAttempts(tell)
            try await EventLoop.sleep(for: Self.time(until: end, atMost: pause))
            pause = min(pause * 2, pauses.upperBound)
            do throws(VarlinkClientError) {
                let client = try await address.connect(
                    mayStart: false, isRetry: true, timeout: Self.time(until: end, atMost: attemptTime))
                lastConnected = .now
                return client
            } catch {
                guard error.isAbsence else { throw error }
            }
        }
    }

    /// Does what is due while the daemon is away, and returns when something is due again; nil for never.
    private func timeForAttempts(_ tell: (Notice) async throws -> Void) async throws -> ContinuousClock.Instant? {
        guard case .away(let error, let end, let notice) = state else { return nil }
        if let end, end <= .now { throw error }
        guard let notice else { return end }
        if notice > .now { return min(notice, end ?? notice) }
        state = .away(error, end: end, notice: nil)
        try await tell(.stillAway)
        return end
    }

    private static func time(until end: ContinuousClock.Instant?, atMost limit: Duration) -> Duration {
        end.map { min(limit, max(.zero, $0 - .now)) } ?? limit
    }

    /// Notes that the connection is lost, or throws what ends the session.
    private func lose(_ error: MonitorError, _ tell: (Notice) async throws -> Void) async throws {
        guard mayTryAgain(after: error) else { throw error }
        if case .away(_, let end, _) = state {
            if let end, end <= .now { throw error }
            return
        }
        let restarted = ContinuousClock.now + Self.restartTime
        let end: ContinuousClock.Instant? =
            switch persistence {
            case .none, .restart: restarted
            case .until(let end): end
            case .unlimited, .whateverFails: nil
            }
        state = .away(error, end: end, notice: restarted)
        try await tell(.lost(error))
    }

    private func mayTryAgain(after error: MonitorError) -> Bool {
        switch (persistence, error) {
        case (_, .cancelled), (.none, _): false
        case (.whateverFails, _): true
        case (.restart, .connection(let error)): error.code == .closed
        case (_, .connection(let error)): error.isLoss
        // While the daemon was away, other clients of this user may have taken all connections.
        case (_, .limitReached("connections", _)): isAway
        default: false
        }
    }
}

extension VarlinkClientError {
    /// Whether the daemon disconnected or timed out; a later attempt may succeed.
    var isLoss: Bool { code == .closed || code == .timedOut }

    /// Whether no daemon accepts connections; one may do so later.
    fileprivate var isAbsence: Bool { code == .noService || code == .timedOut }
}
