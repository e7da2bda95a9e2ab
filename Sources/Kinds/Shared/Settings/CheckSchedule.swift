// SPDX-License-Identifier: Apache-2.0

/// The times of a check, and the number of results that are needed to change the level.
public struct CheckSchedule: Sendable, Equatable {
    /// The time from the end of one check to the start of the next, plus or minus a tenth.
    ///
    /// For a unit, a state counts once in this time.
    public var interval: Duration
    public var timeout: Duration
    /// The number of checks in a row that must find a worse level before it is shown.
    public var failures: Int
    /// The number of checks in a row that must find a better level before it is shown.
    public var successes: Int

    /// Creates a schedule; the defaults apply if the configuration sets nothing.
    public init(
        interval: Duration = .seconds(30), timeout: Duration = .seconds(10), failures: Int = 1, successes: Int = 1
    ) {
        self.interval = interval
        self.timeout = timeout
        self.failures = failures
        self.successes = successes
    }

    /// The maximum time from the end of one check to the end of the next.
    public var longestPause: Duration { interval * 1.1 + timeout }
}

/// The maximum numbers of checks that run at the same time.
public struct CheckLimits: Sendable, Equatable {
    public var checks: Int
    /// Plugins, and checks that run where plugins do.
    public var processes: Int
    /// HTTP requests and questions to name servers, each in a process.
    public var requests: Int
    /// Checks of files and of what else is on this host, each in a process.
    public var files: Int

    /// Creates limits of at least one; the defaults apply if the configuration sets none.
    public init(checks: Int = 128, processes: Int = 16, requests: Int = 64, files: Int = 8) {
        self.checks = max(1, checks)
        self.processes = max(1, processes)
        self.requests = max(1, requests)
        self.files = max(1, files)
    }
}
