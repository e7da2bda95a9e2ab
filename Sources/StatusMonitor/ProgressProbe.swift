// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel

/// A probe that takes the way of a status through the monitor: posted, notified, through the log, read.
///
/// No client ever sees it.
public struct ProgressProbe: Sendable {
    private let monitor: StatusMonitor
    /// In no directory, so that nobody can name it.
    private let server: Server

    /// A probe through `monitor`.
    public init(monitor: StatusMonitor) {
        guard let name = ServerName("statusd.probe") else { preconditionFailure("the probe's name is a name") }
        self.monitor = monitor
        server = Server(name: name)
    }

    /// Posts a probe and waits until it has been notified; returns its revision.
    ///
    /// If that does not happen it does not return, or returns nil when its task is cancelled.
    public func post() async -> Int? {
        var updates = monitor.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        let revision = monitor.postProbe(as: server)
        guard let update = await updates.next(isolation: nil), update.revision == revision else { return nil }
        return revision
    }

    /// Adds a reader of the log that gets probes only (``EventKind/alive``).
    public func watch(onEvents: @escaping @Sendable (WatchUrgency) -> Void) throws(LedgerError) -> Watch {
        try monitor.watch(.probe, onEvents: onEvents)
    }
}
