// SPDX-License-Identifier: Apache-2.0

/// When a check runs, and when its result counts.
public struct CheckSchedule: Sendable, Equatable {
    /// The time from the end of one load to the beginning of the next, give or take a tenth.
    public var interval: Duration
    /// How many loads in a row have to find it worse before that is shown.
    public var failures: Int
    /// How many loads in a row have to find it better before that is shown.
    public var successes: Int

    /// A schedule.
    public init(interval: Duration, failures: Int = 1, successes: Int = 1) {
        self.interval = interval
        self.failures = failures
        self.successes = successes
    }

    /// The time from the first load to the second: anywhere in the interval, so that what began together is spread over time.
    func spread(using generator: inout some RandomNumberGenerator) -> Duration {
        interval * Double.random(in: 0.05...1, using: &generator)
    }

    /// The time from a load to the next.
    func pause(using generator: inout some RandomNumberGenerator) -> Duration {
        interval * Double.random(in: 0.9...1.1, using: &generator)
    }
}
