// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import NotificationStreams
public import StatusMonitor

/// Follows one server and posts its statuses.
@EventLoop
public protocol Source: AnyObject {
    /// Loads the server's status now; nil if there is nothing to load.
    ///
    /// Concurrent callers share one load, also with the source's schedule. A call returns when the load has ended, or
    /// at once if its task is cancelled. If a client disconnects during a refresh, its call is cancelled. The load goes
    /// on while another caller or the schedule waits for it; otherwise it is cancelled, except that a question to
    /// systemd is not withdrawn. The server is shown as refreshing until the load ends, or until the last caller that
    /// requested a refresh leaves.
    var refreshAction: RefreshAction? { get }

    /// Adds what a restart should keep of the source.
    func note(in memory: inout SourceMemory)

    /// Ends the source: it posts nothing more, and releases the callers that wait for a load.
    func close()
}

extension Source {
    public var refreshAction: RefreshAction? { nil }

    public func note(in memory: inout SourceMemory) {}
}
