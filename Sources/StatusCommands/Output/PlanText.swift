// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel

/// What a reload changes, for people.
enum PlanText {
    /// How many servers a line names; who has more wants JSON.
    private static let namesPerLine = 20

    /// A line for each kind of change that there is.
    static func lines(of reply: ReloadReply) -> [String] {
        [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)].compactMap { word, names in
            names.isEmpty ? nil : "\(word): \(list(names))"
        }
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(namesPerLine).map { VisibleText.escape($0) }.joined(separator: ", ")
        return names.count > namesPerLine ? "\(shown), and \(names.count - namesPerLine) more" : shown
    }
}
