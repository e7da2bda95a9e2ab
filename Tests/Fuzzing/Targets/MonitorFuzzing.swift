// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel

@testable import Varlink

/// The parameters and replies of org.statusd.monitor.
enum MonitorFuzzing {
    private static let parameters: [any JSONStructure.Type] = [
        MonitorInterface.ListParameters.self, MonitorInterface.DescribeParameters.self,
        MonitorInterface.SelectParameters.self,
        MonitorInterface.WatchParameters.self, MonitorInterface.PostParameters.self,
        MonitorInterface.ForgetParameters.self, MonitorInterface.RefreshParameters.self,
        MonitorInterface.WaitParameters.self, MonitorInterface.ReloadParameters.self,
        MonitorInterface.HistoryParameters.self, MonitorInterface.SummaryParameters.self,
        MonitorInterface.SilenceParameters.self, MonitorInterface.UnsilenceParameters.self,
        MonitorInterface.TestAlertsParameters.self, MonitorInterface.ReportHostParameters.self,
        MonitorInterface.ReportServerParameters.self,
    ]

    private static let replies: [any JSONStructure.Type] = [
        MonitorInterface.ListReply.self, MonitorInterface.DescribeReply.self, MonitorInterface.SelectReply.self,
        MonitorInterface.WatchReply.self, MonitorInterface.PostReply.self, MonitorInterface.RefreshReply.self,
        MonitorInterface.WaitReply.self, MonitorInterface.ReloadReply.self, MonitorInterface.GetCursorReply.self,
        MonitorInterface.HistoryReply.self, MonitorInterface.SummaryReply.self, MonitorInterface.SilenceReply.self,
        MonitorInterface.UnsilenceReply.self, MonitorInterface.AlertsReply.self,
        MonitorInterface.TestAlertsReply.self, MonitorInterface.HostsReply.self, MonitorInterface.GetMQTTReply.self,
        MonitorInterface.EndReportReply.self,
    ]

    /// Reads the parameters of a call as those of every method.
    static func checkCall(_ message: UnsafeRawBufferPointer, _ call: CallEnvelope) {
        func check<Value: JSONStructure>(_ type: Value.Type) {
            guard let value = try? JSONReader.readParameters(message, call.parameters, as: type) else { return }
            MessageFuzzing.expectStable(value)
        }
        for type in parameters { check(type) }
    }

    /// Reads a reply as that of every method, and an error.
    static func checkReply(_ message: UnsafeRawBufferPointer, _ reply: ReplyEnvelope) {
        func check<Value: JSONStructure>(_ type: Value.Type) {
            guard let value = try? JSONReader.readReply(message, reply.parameters, as: type) else { return }
            MessageFuzzing.expectStable(value)
            (value as? MonitorInterface.WatchReply).map { checkTexts($0.event) }
        }
        for type in replies { check(type) }
        if let name = reply.error { checkError(name, reply.parameters.map { Array(message[$0]) } ?? Array("{}".utf8)) }
    }

    /// What a client shows is visible, whoever sent it.
    private static func checkTexts(_ event: Event) {
        for server in (event.snapshot.map { [$0.state] } ?? []) + (event.servers ?? []) {
            if let text = server.status?.text { TextProperties.expectValid(text) }
            for text in [server.message, server.description, server.source, server.silence?.reason] {
                text.map(TextProperties.expectVisible)
            }
        }
    }

    private static func checkError(_ name: String, _ parameters: [UInt8]) {
        let error = MonitorError(reply: VarlinkError(name: name, parameters: parameters))
        guard let reply = error.reply else { return expect(false, "an error that was read is an error reply") }
        guard let again = MonitorError(reply: reply).reply else { return expect(false, "it can be read again") }
        expect(reply.name == again.name && reply.parameters == again.parameters, "\(reply) becomes \(again)")
    }
}
