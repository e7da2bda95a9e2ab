// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// What statusd is when it is not the daemon, by its first argument.
public enum WorkerRole: String, Sendable {
    /// The service that starts workers.
    case executor
    /// A process that runs plugins.
    case pluginWorker = "plugin-worker"
    /// A process that makes HTTP requests.
    case httpWorker = "http-worker"
    /// A process that looks at this host.
    case hostWorker = "host-worker"

    /// The role that a command line asks for; nil if it asks for the daemon.
    public init?(commandLine: [String]) {
        guard commandLine.count == 2 else { return nil }
        self.init(rawValue: commandLine[1])
    }

    /// Does what every process of such a role begins with.
    public func prepare() {
        // A plugin is another process of the same user, and has no business in this one's memory.
        _ = linux_refuse_tracers()
        pthread_setname_np(pthread_self(), "statusd-\(name)")
    }

    /// The end of the name that ps(1) shows, which has room for seven letters.
    private var name: String {
        switch self {
        case .executor: "exec"
        case .pluginWorker: "plugin"
        case .httpWorker: "http"
        case .hostWorker: "host"
        }
    }
}
