// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport

enum ReloadCommand {
    private static let quiet = Flag(
        "quiet",
        help:
            """
            Show neither the changes nor the errors in the configuration. The journal has the errors in the \
            configuration, unless there were ten reloads in the last 30 s.
            """
    )

    private static let dryRun = Flag(
        "dry-run", help: "Show which servers a reload would add, change and remove; change nothing.")

    static let command = ClientCommand.make(
        "reload", abstract: "Make the daemon read its configuration again.",
        discussion:
            """
            It returns when the new configuration is in effect, and shows the servers that were added, changed and \
            removed.
            """,
        parameters: [dryRun, quiet], statuses: [.invalidConfiguration],
        mayBeRepeated: true, isChange: true, showsNotices: false
    ) { context in
        let (isDryRun, isQuiet) = (context.arguments[dryRun], context.arguments[quiet])
        do {
            let reply = try await context.client.reload(dryRun: isDryRun ? true : nil)
            if !isQuiet { return show(reply, isDryRun, on: context.terminal) }
            return reply.failed.isEmpty ? .done : .invalidConfiguration
        } catch MonitorError.reloadFailed where isQuiet {
            return .invalidConfiguration
        }
    }

    private static func show(_ reply: MonitorInterface.ReloadReply, _ isDryRun: Bool, on terminal: Terminal)
        -> ExitStatus
    {
        if terminal.isJSON {
            terminal.json(reply)
        } else {
            for line in PlanText.lines(of: reply, all: isDryRun) { terminal.line(line) }
            if isDryRun, PlanText.lines(of: reply).isEmpty {
                terminal.line("no server would be added, changed or removed")
            }
        }
        // As many as statusd sends.
        for failure in reply.failed.prefix(101) { terminal.note("error: \(failure)") }
        for warning in (reply.warnings ?? []).prefix(101) { terminal.note("warning: \(warning)") }
        guard !reply.failed.isEmpty else { return .done }
        if !isDryRun {
            terminal.note(
                """
                the rest of the configuration is in effect; a server with an error, and each server of a file that \
                cannot be read, is failed until that is corrected
                """
            )
        }
        return .invalidConfiguration
    }
}

/// The changes of a reload, for people.
enum PlanText {
    /// The maximum number of servers that a line names; JSON lists all.
    private static let namesPerLine = 20

    /// One line for each kind of change, and one if another server is selected.
    ///
    /// - Parameter all: whether a line names all servers, as before a decision.
    static func lines(of reply: MonitorInterface.ReloadReply, all: Bool = false) -> [String] {
        [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)].compactMap { word, names in
            names.isEmpty ? nil : "\(word): \(list(names, atMost: all ? .max : namesPerLine))"
        } + (reply.selected.map { ["selected: \(VisibleText.escape($0))"] } ?? [])
            + (reply.deselected.map { ["selected: none; \(VisibleText.escape($0)) was selected"] } ?? [])
    }

    private static func list(_ names: [String], atMost limit: Int) -> String {
        let shown = names.prefix(limit).map { VisibleText.escape($0) }.joined(separator: ", ")
        return names.count > limit ? "\(shown), and \(names.count - limit) more" : shown
    }
}
