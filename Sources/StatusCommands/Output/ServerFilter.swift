// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusSupport

/// The servers that `list` shows.
struct ServerFilter: Sendable {
    private static let level = Options.level(
        help: "Only servers with this level or a worse one, in the order ok, warning, unknown, critical.",
        default: Level?.none
    ) { $0 }
    private static let selected = Flag("selected", help: "Only the selected server.")
    private static let stale = Flag("stale", help: "Only servers whose status is stale.")
    private static let source = Option<String?>(
        "source", value: "KIND", help: "Only servers with this source kind, such as unit or http.", default: nil,
        completion: .words(kinds)
    ) { text throws(InvalidValue) in
        guard kinds.contains(text) else { throw InvalidValue("must be one of \(kinds.joined(separator: ", "))") }
        return text
    }
    private static let kinds = SourceKinds.keys

    /// The options of a command that filters.
    static let parameters: [any AnyParameter] = [level, selected, stale, source]

    private let arguments: ParsedArguments

    init(_ arguments: ParsedArguments) { self.arguments = arguments }

    /// Whether a server is shown.
    ///
    /// A status that is not current counts as `unknown`.
    func includes(_ server: ServerState) -> Bool {
        if let level = arguments[Self.level], server.countedLevel?.severity ?? 0 < level.severity { return false }
        if arguments[Self.selected], !server.isSelected { return false }
        if arguments[Self.stale], !server.isStale { return false }
        return arguments[Self.source].map { $0 == server.source } ?? true
    }
}
