// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport

enum AlertsCommand {
    private static let receiver = Argument<String?>.optional(
        "receiver", help: "The receiver's name.", completion: receivers)
    private static let test = Flag("test", help: "Send an alert that is marked as a test, and show how that ended.")
    private static let receivers = Completion.dynamic { arguments in
        guard let daemon = try? Options.daemon(arguments), daemon.isSocket || daemon.isRemote else { return [] }
        let client = try? await daemon.connect(isRetry: true)
        let receivers = try? await client?.alerts(within: .seconds(1)).receivers
        return (receivers ?? []).map { CompletionCandidate($0.name, description: $0.command.first ?? "") }
    }

    static let command = ClientCommand.make(
        "alerts", abstract: "Show who is told of problems, and what is due or held.",
        discussion: "Receivers are configured in “alerts”, see statusd.yaml(5).",
        parameters: [receiver, test], statuses: [.failed], mayBeRepeated: true
    ) { context in
        let (terminal, name) = (context.terminal, context.arguments[receiver])
        if context.arguments[test] { return try await sendTest(to: name, context) }
        let reply = try await context.client.alerts()
        if let name, !reply.receivers.contains(where: { $0.name == name }) {
            throw MonitorError.noSuchReceiver(receiver: name)
        }
        let receivers = reply.receivers.filter { name == nil || $0.name == name }
        if terminal.isJSON {
            terminal.json(MonitorInterface.AlertsReply(receivers: receivers))
        } else if receivers.isEmpty {
            terminal.note("nobody is told of problems; add “alerts” to the configuration, see statusd.yaml(5)")
        } else {
            for line in receivers.flatMap({ lines(of: $0, terminal.style) }) { terminal.line(line) }
        }
        await context.warn()
        return .done
    }

    private static func sendTest(to name: String?, _ context: ClientCommand.Context) async throws -> ExitStatus {
        await context.mayTakeItsTime()
        let tests = try await context.client.testAlerts(receiver: name, within: nil).tests
        let terminal = context.terminal
        if terminal.isJSON {
            terminal.json(MonitorInterface.TestAlertsReply(tests: tests))
        } else if tests.isEmpty {
            terminal.note("nobody is told of problems; add “alerts” to the configuration, see statusd.yaml(5)")
        }
        for test in tests where !terminal.isJSON {
            let time = ChangeText.span(test.milliseconds)
            let receiver = VisibleText.escape(test.receiver)
            terminal.line(
                test.problem.map { "\(receiver): failed after \(time): \(VisibleText.escape($0))" }
                    ?? "\(receiver): delivered in \(time)")
            for line in test.output.split(separator: "\n") { terminal.line("  \(VisibleText.escape(String(line)))") }
        }
        return tests.allSatisfy { $0.problem == nil } ? .done : .failed
    }

    /// A receiver, for people.
    private static func lines(of receiver: MonitorInterface.Receiver, _ style: Style) -> [String] {
        func time(_ text: String?) -> String? { text.flatMap { Timestamp($0) }.map { TimeText.short($0) } }
        let last = time(receiver.deliveredAt).map { "delivered \($0)" } ?? "nothing delivered since statusd started"
        let name = style.strong(VisibleText.escape(receiver.name))
        var lines = ["\(name): \(receiver.isRunning ? "delivering" : last)"]
        func add(_ label: String, _ values: [String]) {
            for (number, value) in values.enumerated() {
                lines.append((number == 0 ? "  \(label):" : "").fitted(to: 12) + value)
            }
        }
        add("Program", [VisibleText.escape(receiver.command.joined(separator: " "))])
        if let problem = receiver.problem {
            let count = "\(receiver.failures) attempt\(receiver.failures == 1 ? "" : "s") in a row failed"
            let next = time(receiver.nextAttempt).map { ", the next one is at \($0)" } ?? ""
            add("Failed", ["\(time(receiver.failedAt) ?? ""): \(VisibleText.escape(problem))", count + next])
        }
        add("Due", receiver.untold.filter { $0.hold == nil }.map(description))
        add("Held", receiver.untold.filter { $0.hold != nil }.map(description))
        return lines
    }

    private static func description(_ untold: MonitorInterface.Untold) -> String {
        let reason: String? =
            switch untold.hold {
            case nil: nil
            case .silenced: "silenced"
            case .parent: "\(untold.parent ?? "its parent") is down"
            case .result: "waits for a new result" + (untold.parent.map { " of \($0)" } ?? "")
            case .time: untold.until.flatMap { Timestamp($0) }.map { "must last until \(TimeText.short($0))" }
            }
        let server = "\(VisibleText.escape(untold.server)) \(untold.level?.rawValue ?? "removed")"
        return server + (reason.map { " (\(VisibleText.escape($0)))" } ?? "")
    }
}
