// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// What statusd is when it is not the daemon, by its first argument.
public enum ExecutorRole: String, Sendable {
    /// The service that starts workers.
    case executor
    /// A process that runs plugins.
    case worker

    /// The role that a command line asks for; nil if it asks for the daemon.
    public init?(commandLine: [String]) {
        guard commandLine.count == 2 else { return nil }
        self.init(rawValue: commandLine[1])
    }

    /// Plays it until the end.
    public func run() -> Never {
        // A plugin is another process of the same user, and has no business in this one's memory.
        _ = statusd_refuse_tracers()
        switch self {
        case .executor: Executor.run()
        case .worker: Worker.run()
        }
    }
}
