// SPDX-License-Identifier: Apache-2.0

/// Decides when to connect to the service manager, when to read all units again, and when to replace a lost connection; performs no effects
/// itself.
struct ConnectionStateMachine: ~Copyable {
    /// What to do outside.
    enum Effect: Equatable {
        /// Connect; report it by `connected`, or by `lost`.
        case connect
        case disconnect
        /// Ask how all units are, by one call, and read those first that differ from what is known.
        ///
        /// Reading them all takes as many answers, one after another, as there are dozens of them; and each may be late.
        case list
        /// Do so after this time.
        case listAfter(Duration)
        case readAll
        /// Go on reading what waits to be read.
        case resumeReading
        /// Report the end of this time by `timerFired`.
        case wait(Duration)
        /// Log that units are not followed, or followed again.
        case logLoss(String)
        case logReturn
        /// Tell all followers that nothing is known.
        case loseUnits(String)
    }

    /// A connection that is there.
    private struct Following {
        /// If the one before was lost, which is in the log, and this one has not worked yet: the pause if it is lost, too.
        var retry: Duration?
        /// When all units were read last; for some time after it, the manager is busy with that.
        var readAt: ContinuousClock.Instant
        /// Whether all units are read again soon.
        var isReadDue = false

        /// Has all units read in a moment, if that is not due anyway.
        mutating func readSoon(_ times: BusTimes, units count: Int) -> [Effect] {
            defer { isReadDue = true }
            return isReadDue ? [] : [.wait(times.betweenReadings(ofUnits: count))]
        }
    }

    private enum State {
        /// Nothing is followed.
        case idle
        case connecting(retry: Duration?)
        case following(Following)
        /// The connection was lost, for this reason, and will be replaced.
        case waiting(reason: String, retry: Duration)
    }

    private let times: BusTimes
    private var state = State.idle

    init(_ times: BusTimes) { self.times = times }

    /// Why there is no connection, while one is waited for.
    var failure: String? { if case .waiting(let reason, _) = state { reason } else { nil } }

    // MARK: The connection

    /// There are units to be followed.
    mutating func wanted() -> [Effect] {
        guard case .idle = state else { return [] }
        state = .connecting(retry: nil)
        return [.connect]
    }

    /// There is a connection, which may be lost before it works.
    mutating func connected(at now: ContinuousClock.Instant) -> [Effect] {
        guard case .connecting(let retry) = state else { return [] }
        state = .following(Following(retry: retry, readAt: now))
        return [.readAll, .wait(BusTimes.betweenRegularReadings)]
    }

    /// The service manager has answered.
    mutating func worked() -> [Effect] {
        change { following, _ in
            defer { following.retry = nil }
            return following.retry == nil ? [] : [.logReturn]
        }
    }

    /// The connection was lost, or could not be made.
    mutating func lost(_ reason: String) -> [Effect] {
        switch state {
        case .connecting(let retry): lost(reason, retry)
        case .following(let following): lost(reason, following.retry)
        case .idle, .waiting: []
        }
    }

    private mutating func lost(_ reason: String, _ retry: Duration?) -> [Effect] {
        let pause = retry ?? BusTimes.firstPause
        state = .waiting(reason: reason, retry: min(pause * 2, BusTimes.longestPause))
        return [.disconnect] + (retry == nil ? [.logLoss(reason)] : []) + [.wait(pause), .loseUnits(reason)]
    }

    /// Nothing is followed any more.
    mutating func unwanted() -> [Effect] {
        state = .idle
        return [.disconnect]
    }

    // MARK: Reading

    /// Each unit may have become another one.
    mutating func reloaded(at now: ContinuousClock.Instant) -> [Effect] {
        change { following, _ in
            following.readAt = now
            return [.readAll]
        }
    }

    /// Others disturb: the bus may have dropped signals.
    mutating func disturbed(units count: Int) -> [Effect] {
        change { [.list, .listAfter($1.afterDisturbance)] + $0.readSoon($1, units: count) }
    }

    /// An answer to a question of this time was late.
    mutating func delayed(since time: ContinuousClock.Instant, units count: Int) -> [Effect] {
        change { following, times in
            let isOfReading = time <= following.readAt + BusTimes.reading(units: count)
            return [.list] + (isOfReading ? [] : following.readSoon(times, units: count))
        }
    }

    /// The manager may be called again.
    mutating func resumed(units count: Int) -> [Effect] {
        change { [.resumeReading, .list] + $0.readSoon($1, units: count) }
    }

    /// The time to wait is over.
    mutating func timerFired(at now: ContinuousClock.Instant, units count: Int) -> [Effect] {
        if case .waiting(_, let retry) = state {
            state = .connecting(retry: retry)
            return [.connect]
        }
        return change { following, times in
            let wasDisturbed = following.isReadDue
            following.isReadDue = false
            following.readAt = now
            // What comes within a second of the last report is not reported (``BusTrust``), so it may have come after this reading.
            let pause = wasDisturbed ? times.betweenReadings(ofUnits: count) : BusTimes.betweenRegularReadings
            return (wasDisturbed ? [.list] : []) + [.readAll, .wait(pause)]
        }
    }

    /// Changes the connection, if there is one.
    private mutating func change(_ change: (inout Following, BusTimes) -> [Effect]) -> [Effect] {
        guard case .following(var following) = state else { return [] }
        defer { state = .following(following) }
        return change(&following, times)
    }
}
