// SPDX-License-Identifier: Apache-2.0

/// Decides when to connect to the service manager, when to read all units, and when to replace a lost connection.
///
/// It performs no effects itself.
struct ConnectionStateMachine: ~Copyable {
    /// What to do outside the machine.
    enum Effect: Equatable {
        /// Connect; report the result by `connected` or `lost`.
        case connect
        case disconnect
        /// Ask for the states of all units with one call, and first read those that differ from what is known.
        ///
        /// Reading all units takes dozens of answers, one after another, and each may be late.
        case list
        /// List after this time.
        case listAfter(Duration)
        case readAll
        /// Continue to read the waiting units.
        case resumeReading
        /// Report the end of this time by `timerFired`.
        case wait(Duration)
        /// Log that units are not followed.
        case logLoss(String)
        case logReturn
        /// Report to all followers that nothing is known.
        case loseUnits(String)
    }

    /// A connection that is up.
    private struct Following {
        /// The pause if this connection is lost, too.
        ///
        /// It is set if the former one was lost, which has been logged, and this one has not worked yet.
        var retry: Duration?
        /// When all units were last read; answering keeps the manager busy for a while.
        var readAt: ContinuousClock.Instant
        /// Whether all units will be read again soon.
        var isReadDue = false

        /// Schedules a reading of all units, unless one is scheduled.
        mutating func readSoon(_ times: BusTimes, units count: Int) -> [Effect] {
            defer { isReadDue = true }
            return isReadDue ? [] : [.wait(times.betweenReadings(ofUnits: count))]
        }
    }

    private enum State {
        /// No unit is followed.
        case idle
        case connecting(retry: Duration?)
        case following(Following)
        /// The connection was lost for this reason and will be replaced.
        case waiting(reason: String, retry: Duration)
    }

    private let times: BusTimes
    private var state = State.idle

    init(_ times: BusTimes) { self.times = times }

    /// Why there is no connection, while one is awaited.
    var failure: String? { if case .waiting(let reason, _) = state { reason } else { nil } }

    // MARK: The connection

    /// A unit is followed.
    mutating func wanted() -> [Effect] {
        guard case .idle = state else { return [] }
        state = .connecting(retry: nil)
        return [.connect]
    }

    /// The connection is up; it may be lost before it works.
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

    /// The connection was lost or could not be made.
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

    /// No unit is followed any more.
    mutating func unwanted() -> [Effect] {
        state = .idle
        return [.disconnect]
    }

    // MARK: Reading

    /// Each unit may have changed, and signals may have been missed.
    mutating func reloaded(at now: ContinuousClock.Instant) -> [Effect] {
        change { following, _ in
            following.readAt = now
            return [.readAll]
        }
    }

    /// Others disturb, so the bus may have dropped signals.
    mutating func disturbed(units count: Int) -> [Effect] {
        change { [.list, .listAfter($1.afterDisturbance)] + $0.readSoon($1, units: count) }
    }

    /// An answer to a call made at this time was late.
    mutating func delayed(since time: ContinuousClock.Instant, units count: Int) -> [Effect] {
        change { following, times in
            let isOfReading = time <= following.readAt + BusTimes.reading(units: count)
            return [.list] + (isOfReading ? [] : following.readSoon(times, units: count))
        }
    }

    /// The manager can be called again.
    mutating func resumed(units count: Int) -> [Effect] {
        change { [.resumeReading, .list] + $0.readSoon($1, units: count) }
    }

    /// The wait is over.
    mutating func timerFired(at now: ContinuousClock.Instant, units count: Int) -> [Effect] {
        if case .waiting(_, let retry) = state {
            state = .connecting(retry: retry)
            return [.connect]
        }
        return change { following, times in
            let wasDisturbed = following.isReadDue
            following.isReadDue = false
            following.readAt = now
            // Within a second of the last report, disturbances are not reported (``BusTrust``), so another may have
            // come after this reading.
            let pause = wasDisturbed ? times.betweenReadings(ofUnits: count) : BusTimes.betweenRegularReadings
            return (wasDisturbed ? [.list] : []) + [.readAll, .wait(pause)]
        }
    }

    /// Changes the connection if it is up.
    private mutating func change(_ change: (inout Following, BusTimes) -> [Effect]) -> [Effect] {
        guard case .following(var following) = state else { return [] }
        defer { state = .following(following) }
        return change(&following, times)
    }
}
