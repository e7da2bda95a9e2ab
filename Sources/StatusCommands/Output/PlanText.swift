// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel

/// The changes of a reload, for people.
enum PlanText {
    /// The maximum number of servers that a line names; JSON lists all.
    private static let namesPerLine = 20

    /// One line for each kind of change, and one if another server is selected.
    ///
    /// - Parameter all: whether a line names all servers, as before a decision.
    static func lines(of reply: ReloadReply, all: Bool = false) -> [String] {
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
