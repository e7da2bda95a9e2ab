// SPDX-License-Identifier: Apache-2.0

/// The maximum numbers of checks that run at the same time.
public struct CheckLimits: Sendable, Equatable {
    /// The total of all checks.
    public var checks: Int
    /// Plugins.
    public var processes: Int
    /// HTTP requests, each in a process.
    public var requests: Int
    /// Checks of files, each in a process.
    public var files: Int

    /// Creates limits of at least one; the defaults apply if the configuration sets none.
    public init(checks: Int = 128, processes: Int = 16, requests: Int = 64, files: Int = 8) {
        self.checks = max(1, checks)
        self.processes = max(1, processes)
        self.requests = max(1, requests)
        self.files = max(1, files)
    }
}
