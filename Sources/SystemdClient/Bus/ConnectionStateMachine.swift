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

    /// What is known of the connection so far.
    private enum Trial {
        /// No connection has been lost since units are followed.
        case first
        /// The one before was lost, which is in the log. If this one is lost before it works, the next comes after `pause`.
        case again(pause: Duration)
        /// The service manager has answered.
        case works
    }

    /// A connection that is there.
    private struct Following {
        var trial: Trial
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
        case connecting(Trial)
        case following(Following)
        /// The connection was lost, for this reason, and will be replaced.
        case waiting(reason: String, Trial)
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
        state = .connecting(.first)
        return [.connect]
    }

    /// There is a connection, which may be lost before it works.
    mutating func connected(at now: ContinuousClock.Instant) -> [Effect] {
        guard case .connecting(let trial) = state else { return [] }
        state = .following(Following(trial: trial, readAt: now))
        return [.readAll, .wait(BusTimes.betweenRegularReadings)]
    }

    /// The service manager has answered.
    mutating func worked() -> [Effect] {
        change { following, _ in
            defer { following.trial = .works }
            if case .again = following.trial { return [.logReturn] }
            return []
        }
    }

    /// The connection was lost, or could not be made.
    mutating func lost(_ reason: String) -> [Effect] {
        switch state {
        case .connecting(let trial): lost(reason, trial)
        case .following(let following): lost(reason, following.trial)
        case .idle, .waiting: []
        }
    }

    private mutating func lost(_ reason: String, _ trial: Trial) -> [Effect] {
        let (pause, log): (Duration, [Effect]) =
            switch trial {
            case .first, .works: (BusTimes.firstPause, [.logLoss(reason)])
            case .again(let pause): (pause, [])
            }
        state = .waiting(reason: reason, .again(pause: min(pause * 2, BusTimes.longestPause)))
        return [.disconnect] + log + [.wait(pause), .loseUnits(reason)]
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
        if case .waiting(_, let trial) = state {
            state = .connecting(trial)
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
