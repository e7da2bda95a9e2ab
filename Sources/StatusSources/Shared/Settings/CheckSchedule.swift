// SPDX-License-Identifier: Apache-2.0

/// When a check runs, how long it may take, and when its result counts.
public struct CheckSchedule: Sendable, Equatable {
    /// The time from the end of one load to the beginning of the next, give or take a tenth; for a unit, how long a state counts once.
    public var interval: Duration
    /// How long a load may take.
    public var timeout: Duration
    /// How many loads in a row have to find it worse than it is shown before that is shown.
    public var failures: Int
    /// How many loads in a row have to find it better than it is shown before that is shown.
    public var successes: Int

    /// A schedule; without arguments the one that holds unless a file says otherwise.
    public init(
        interval: Duration = .seconds(30), timeout: Duration = .seconds(10), failures: Int = 1, successes: Int = 1
    ) {
        self.interval = interval
        self.timeout = timeout
        self.failures = failures
        self.successes = successes
    }

    /// The longest time from the end of one load to the end of the next.
    public var longestPause: Duration { interval * 1.1 + timeout }
}
