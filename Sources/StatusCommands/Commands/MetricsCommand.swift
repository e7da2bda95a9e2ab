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
        let report = MetricsReport(servers, reply)
        context.terminal.data(report.text(context.arguments[openMetrics] ? .openMetrics : .prometheus))
        return .done
    }
}
