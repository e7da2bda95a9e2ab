// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel

/// A probe that passes through the monitor like a status: it is posted, notified, logged and read.
///
/// No client ever sees it.
public struct ProgressProbe: Sendable {
    private let monitor: StatusMonitor
    /// The server of the notifications; it is not in the ledger, so no client can name it.
    private let server: Server

    public init(monitor: StatusMonitor) {
        guard let name = ServerName("statusd.probe") else { preconditionFailure("the probe's name is a name") }
        self.monitor = monitor
        server = Server(name: name)
    }

    /// Posts a probe and waits until it has been notified; returns its revision.
    ///
    /// If the notification never arrives, the call returns only when its task is cancelled, with nil.
    public func post() async -> Int? {
        var updates = monitor.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        let revision = monitor.postProbe(as: server)
        guard let update = await updates.next(isolation: nil), update.revision == revision else { return nil }
        return revision
    }

    /// Adds a reader that gets only probes (``EventKind/alive``).
    public func watch(onEvents: @escaping @Sendable (WatchUrgency) -> Void) throws(LedgerError) -> Watch {
        try monitor.watch(.probe, onEvents: onEvents)
    }
}
