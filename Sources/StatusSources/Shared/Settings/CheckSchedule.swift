// SPDX-License-Identifier: Apache-2.0

/// When a check runs, how long it may take, and when its result counts.
public struct CheckSchedule: Sendable, Equatable {
    /// The time from the end of one load to the start of the next, plus or minus a tenth.
    ///
    /// For a unit, it is the time in which a state counts once.
    public var interval: Duration
    /// The timeout of a load.
    public var timeout: Duration
    /// How many loads in a row must find a worse level before it is shown.
    public var failures: Int
    /// How many loads in a row must find a better level before it is shown.
    public var successes: Int

    /// Creates a schedule, by default that of a configuration that says nothing.
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
