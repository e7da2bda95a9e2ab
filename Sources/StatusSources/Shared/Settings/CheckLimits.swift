// SPDX-License-Identifier: Apache-2.0

/// The maximum numbers of checks of all servers that run at the same time.
public struct CheckLimits: Sendable, Equatable {
    /// All checks.
    public var checks: Int
    /// Plugins among these.
    public var processes: Int
    /// HTTP requests among these, each in a process.
    public var requests: Int
    /// Checks of files among these, each in a process.
    public var files: Int

    /// Creates limits, each at least one; the defaults are those of an empty configuration.
    public init(checks: Int = 128, processes: Int = 16, requests: Int = 64, files: Int = 8) {
        self.checks = max(1, checks)
        self.processes = max(1, processes)
        self.requests = max(1, requests)
        self.files = max(1, files)
    }
}
