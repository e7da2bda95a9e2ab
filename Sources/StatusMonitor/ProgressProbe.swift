// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel

/// A probe that travels the whole way of a status: posted, notified, through the log, read.
///
/// A keep-alive that depends on it tells the service manager that work is done, not merely that timers run.
public struct ProgressProbe: Sendable {
    private let monitor: StatusMonitor
    /// In no directory, so that no client ever sees it.
    private let server: Server
    private let watch: Watch

    /// A probe through `monitor`.
    public init(monitor: StatusMonitor) throws(MonitorError) {
        guard let name = ServerName("statusd.probe") else { preconditionFailure("the probe's name is a name") }
        self.monitor = monitor
        server = Server(name: name)
        watch = try monitor.watch(.probe) { _ in }
    }

    /// Sends a probe and waits for it; returns whether it came out at the other end, both as a notification and from the log.
    ///
    /// Where something on the way is stuck it does not return, or returns false when its task is cancelled.
    public func travel() async -> Bool {
        var updates = monitor.bus.notifications(
            named: .didUpdateStatus, object: server, bufferingPolicy: .bufferingNewest(1)
        ).makeAsyncIterator()
        let revision = monitor.postProbe(as: server)
        guard let update = await updates.next(isolation: nil), update.revision == revision else { return false }
        var read: Event?
        while let event = watch.next() { read = event }
        return read?.cursor.revision == revision
    }
}
