// SPDX-License-Identifier: Apache-2.0

/// Decides when to subscribe again, so that the broker sends everything that it keeps once more.
///
/// With some brokers, what they keep and what is new do not come as one (nats-server loses messages in between), so
/// there are several passes at first, and two each hour. A pass has ended when the broker has been quiet for a while.
struct PassMachine {
    enum Action: Equatable {
        case subscribe
        /// Everything that exists was heard in this pass.
        case endPass
    }

    private enum State {
        case disconnected
        /// The broker has not answered the subscription.
        case asked(pass: Int)
        /// The broker sends what it keeps; it began and last sent something at these times.
        case receiving(pass: Int, since: Duration, last: Duration)
        case resting(until: Duration)
    }

    /// After so long without a message that the broker keeps, it has sent all of them.
    static let quietTime = Duration.seconds(5)
    /// The same for the passes after the first.
    static let laterQuietTime = Duration.seconds(2)
    static let longestPass = Duration.seconds(120)
    /// How many passes there are at first.
    ///
    /// The daemon removes what is missing from two passes. What it was told before the connection broke counts for the
    /// first one, so there must be two more: otherwise what was removed meanwhile would stay for half an hour.
    static let firstPasses = 3
    static let rest = Duration.seconds(1800)

    private var state = State.disconnected

    /// Whether a pass runs.
    var isActive: Bool {
        switch state {
        case .asked, .receiving: true
        case .disconnected, .resting: false
        }
    }

    /// The connection was made, or the daemon must be told everything again.
    mutating func begin() -> Action {
        state = .asked(pass: 1)
        return .subscribe
    }

    mutating func disconnected() { state = .disconnected }

    mutating func subscribed(now: Duration) {
        if case .asked(let pass) = state { state = .receiving(pass: pass, since: now, last: now) }
    }

    /// A message that the broker kept has come.
    mutating func heardKept(now: Duration) {
        if case .receiving(let pass, let since, _) = state { state = .receiving(pass: pass, since: since, last: now) }
    }

    /// Time has passed.
    ///
    /// - Parameter isBehind: whether messages of this pass were not handled yet, or must be repeated.
    mutating func tick(now: Duration, isBehind: Bool) -> [Action] {
        switch state {
        case .receiving(let pass, let since, let last):
            let isQuiet = !isBehind && now - last >= (pass == 1 ? Self.quietTime : Self.laterQuietTime)
            guard isQuiet || now - since >= Self.longestPass else { return [] }
            if pass < Self.firstPasses {
                state = .asked(pass: pass + 1)
                return [.endPass, .subscribe]
            }
            state = .resting(until: now + Self.rest)
            return [.endPass]
        case .resting(let until) where now >= until:
            state = .asked(pass: Self.firstPasses)
            return [.subscribe]
        default: return []
        }
    }
}
