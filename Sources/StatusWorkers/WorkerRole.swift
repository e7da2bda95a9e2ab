// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The roles of statusd other than the daemon, by its first argument.
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

    /// Prepares a process of this role.
    public func prepare() {
        // Plugins are processes of the same user, and must not read this one's memory.
        _ = linux_refuse_tracers()
        pthread_setname_np(pthread_self(), "statusd-\(name)")
    }

    /// The end of the name in ps(1), which has room for seven letters.
    private var name: String {
        switch self {
        case .executor: "exec"
        case .pluginWorker: "plugin"
        case .httpWorker: "http"
        case .hostWorker: "host"
        }
    }
}
