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
    }

    private enum State {
        case disconnected
        /// The broker has not answered the subscription.
        case asked
        /// The broker sends what it keeps; it began and last sent something at these times.
        case receiving(since: Duration, last: Duration)
        case resting(until: Duration)
    }

    /// After so long without a message that the broker keeps, it has sent all of them.
    static let quietTime = Duration.seconds(5)
    static let longestPass = Duration.seconds(120)
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

    /// Whether a pass runs, or the next one begins soon.
    var isActive: Bool {
        switch state {
        case .asked, .receiving: true
        case .resting: rest < .seconds(60)
        case .disconnected: false
        }
    }

    /// The connection was made, or the daemon must be told everything again.
    mutating func begin() -> Action {
        (state, passes) = (.asked, 0)
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
            actions = [.endPass]
            passes += 1
            state = .resting(until: now + rest)
        }
        guard case .resting(let until) = state, now >= until else { return actions }
        state = .asked
        return actions + [.subscribe]
    }

    private var rest: Duration {
        if passes < Self.firstPasses { return .zero }
        return min(Self.shortestRest * (1 << min(passes - Self.firstPasses, 10)), Self.longestRest)
    }
}
