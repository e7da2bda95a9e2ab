// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import NotificationStreams

/// What runs for one server so that its statuses come in.
@EventLoop
public protocol Source: AnyObject {
    /// Loads the server's status now; nil where there is nothing to load.
    ///
    /// All who call it at the same time share one load. It returns when that has ended; a caller whose task is cancelled leaves at
    /// once, and the last one to leave cancels the load.
    var refreshAction: RefreshAction? { get }

    /// Ends the source: nothing of it is posted any more, and who waits for a load is let go.
    func close()
}
