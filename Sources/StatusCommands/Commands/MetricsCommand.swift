// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusMetrics
import StatusModel
import StatusSupport

enum MetricsCommand {
    private static let openMetrics = Flag("openmetrics", help: "Write the format of OpenMetrics 1.0 instead.")

    static let command = ClientCommand.make(
        "metrics", abstract: "Write metrics in the text format of Prometheus.",
        discussion: "The timer statusd-metrics.timer writes them for node_exporter, see statusd(8).",
        parameters: [openMetrics], writesJSON: false, mayBeRepeated: true
    ) { context in
        let servers = try await context.client.list().servers
        let reply = try await context.client.getCursor()
        let report = MetricsReport(
            servers: servers, notices: reply.notices?.count ?? 0, daemon: reply.health.map { MetricsReport.Daemon($0) })
        context.terminal.data(report.text(context.arguments[openMetrics] ? .openMetrics : .prometheus))
        return .done
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
