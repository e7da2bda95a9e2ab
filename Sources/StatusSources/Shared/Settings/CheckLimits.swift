// SPDX-License-Identifier: Apache-2.0

/// How many checks may run side by side, those of all servers together.
public struct CheckLimits: Sendable, Equatable {
    /// Checks of all kinds.
    public var checks: Int
    /// Those among them that are plugins.
    public var processes: Int
    /// Those among them that are HTTP requests, each a process, too.
    public var requests: Int
    /// Those among them that look at this host's disks, each a process, too.
    public var looks: Int

    /// Limits of at least one; without arguments those that hold where no file says otherwise.
    public init(checks: Int = 128, processes: Int = 16, requests: Int = 64, looks: Int = 8) {
        self.checks = max(1, checks)
        self.processes = max(1, processes)
        self.requests = max(1, requests)
        self.looks = max(1, looks)
    }
}
