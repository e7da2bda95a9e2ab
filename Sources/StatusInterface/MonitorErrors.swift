// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

// The errors of the interface.
extension VarlinkError {
    /// There is no server of this name; `reason`: why it was not added by a post.
    public static func noSuchServer(_ server: String, reason: String? = nil) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("NoSuchServer")) { writer in
            writer.member("server", shortened(server))
            writer.member("reason", reason)
        }
    }

    /// The server stands in a configuration file, and can be removed only there.
    public static func isConfigured(_ server: String, in file: String) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("IsConfigured")) { writer in
            writer.member("server", server)
            writer.member("file", file)
        }
    }

    /// No server is selected.
    public static let nothingSelected = VarlinkError(MonitorInterface.qualified("NothingSelected"))

    /// The server's statuses are not loaded, so there is nothing to refresh.
    public static func notRefreshable(_ server: String) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("NotRefreshable")) { $0.member("server", server) }
    }

    /// The load failed.
    public static func refreshFailed(_ server: String, _ reason: String) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("RefreshFailed")) { writer in
            writer.member("server", server)
            writer.member("reason", reason)
        }
    }

    /// The time is over; this is how the server is, where there is one.
    public static func waitTimedOut(_ server: ServerState?) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("WaitTimedOut")) { $0.member("server", server) }
    }

    /// The status is none, or the server does not take one in this way.
    public static func invalidStatus(_ reason: String) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("InvalidStatus")) { $0.member("reason", reason) }
    }

    /// There are as many as there may be.
    public static func limitReached(_ limit: String, _ value: Int) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("LimitReached")) { writer in
            writer.member("limit", limit)
            writer.member("value", value)
        }
    }

    /// The daemon cannot start.
    public static func startFailed(_ reason: String) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("StartFailed")) { $0.member("reason", reason) }
    }

    /// The configuration could not be read; everything is as it was before.
    public static func reloadFailed(_ failed: [Failure]) -> VarlinkError {
        VarlinkError(MonitorInterface.qualified("ReloadFailed")) { $0.member("failed", failed) }
    }
}
