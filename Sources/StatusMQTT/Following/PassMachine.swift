// SPDX-License-Identifier: Apache-2.0

/// Decides when to subscribe again, so that the broker sends everything that it keeps once more.
///
/// With some brokers, what they keep and what is new do not come as one: nats-server loses messages in between, and a
/// cluster that has lost a node sends some of what it keeps only after a minute. So there are passes again and again,
/// with longer and longer rests. A pass has ended when the broker has been quiet for a while.
struct PassMachine {
    enum Action: Equatable {
        case subscribe
        /// Everything that exists was heard in this pass.
        case endPass
        /// The broker has not answered; try another one.
        case giveUp
    }

    private enum State {
        case disconnected
        /// The broker has not answered the subscription of this time.
        case asked(since: Duration)
        /// The broker sends what it keeps; it began and last sent something at these times.
        case receiving(since: Duration, last: Duration)
        case resting(until: Duration)
    }

    /// After so long without a message that the broker keeps, it has sent all of them.
    static let quietTime = Duration.seconds(5)
    static let longestPass = Duration.seconds(120)
    /// How long the answer may take; NATS without two of three nodes gives none.
    static let longestWait = Duration.seconds(30)
    /// How many passes there are at first, without a rest.
    ///
    /// The daemon removes what is missing from two passes, and what it was told before the connection broke counts for
    /// the first one.
    static let firstPasses = 3
    /// The rest after these, which doubles with each pass.
    static let shortestRest = Duration.seconds(5)
    static let longestRest = Duration.seconds(1800)

    private var state = State.disconnected
    /// The number of passes that have ended.
    private var passes = 0
    /// Until when hosts may come back after an absence of the broker, so that what is missing is not gone.
    private var returnsEnd = Duration.zero

    /// Whether a pass runs, or the next one begins soon.
    var isActive: Bool {
        switch state {
        case .asked, .receiving: true
        case .resting: rest < .seconds(60)
        case .disconnected: false
        }
    }

    /// The connection was made, or the daemon must be told everything again.
    mutating func begin(now: Duration, returnsEnd: Duration = .zero) -> Action {
        (state, passes, self.returnsEnd) = (.asked(since: now), 0, returnsEnd)
        return .subscribe
    }

    mutating func disconnected() { state = .disconnected }

    mutating func subscribed(now: Duration) {
        if case .asked = state { state = .receiving(since: now, last: now) }
    }

    /// A message that the broker kept has come.
    mutating func heardKept(now: Duration) {
        if case .receiving(let since, _) = state { state = .receiving(since: since, last: now) }
    }

    /// Time has passed.
    ///
    /// - Parameter isBehind: whether messages of this pass were not handled yet, or must be repeated.
    mutating func tick(now: Duration, isBehind: Bool) -> [Action] {
        var actions: [Action] = []
        if case .receiving(let since, let last) = state {
            let isQuiet = !isBehind && now - last >= Self.quietTime
            guard isQuiet || now - since >= Self.longestPass else { return [] }
            passes += 1
            if now >= returnsEnd {
                actions = [.endPass]
                state = .resting(until: now + rest)
            } else if passes < Self.firstPasses {
                state = .resting(until: now)
            } else {
                (state, passes) = (.resting(until: returnsEnd), 0)
            }
        }
        if case .asked(let since) = state, !isBehind, now - since >= Self.longestWait {
            state = .disconnected
            return [.giveUp]
        }
        guard case .resting(let until) = state, now >= until else { return actions }
        state = .asked(since: now)
        return actions + [.subscribe]
    }

    private var rest: Duration {
        if passes < Self.firstPasses { return .zero }
        return min(Self.shortestRest * (1 << min(passes - Self.firstPasses, 10)), Self.longestRest)
    }
}
