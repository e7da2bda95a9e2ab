// SPDX-License-Identifier: Apache-2.0

public import StatusInterface
public import StatusModel

extension MetricsReport {
    /// The report of a daemon's answers to `List` and `GetCursor`.
    ///
    /// - Parameter totals: what is told of all servers; nil if `servers` are all.
    public init(_ servers: [ServerState], totals: Totals? = nil, _ reply: MonitorInterface.GetCursorReply) {
        self.init(
            servers: servers, totals: totals, notices: reply.notices?.count ?? 0,
            daemon: reply.health.map { Daemon($0) })
    }
}

extension MetricsReport.Daemon {
    init(_ health: MonitorInterface.Health) {
        self.init(
            version: health.version, startedAt: Timestamp(health.startedAt), reloadSucceeded: health.reloadSucceeded,
            receivers: health.receivers.map { receiver in
                MetricsReport.Receiver(
                    name: receiver.name, due: receiver.due, held: receiver.held, deliveries: receiver.deliveries,
                    failures: receiver.failures, failuresInRow: receiver.failuresInRow)
            })
    }
}
