// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// A line of `--format`: text with fields in braces, such as `{name} {level}`.
struct FormatTemplate: Sendable {
    private enum Piece {
        case text(String)
        case field(ServerField)
    }

    private let pieces: [Piece]

    /// Parses a template.
    ///
    /// `{{` and `}}` are braces, and `\t`, `\n` and `\\` are as in printf(1).
    init(_ template: String) throws(InvalidValue) {
        if template.isEmpty { throw InvalidValue("must not be empty") }
        var pieces: [Piece] = []
        var text = ""
        var rest = template[...]
        while let character = rest.popFirst() {
            switch (character, rest.first) {
            case ("{", "{"), ("}", "}"), ("\\", "\\"): text.append(rest.removeFirst())
            case ("\\", "t"), ("\\", "n"): text += rest.removeFirst() == "t" ? "\t" : "\n"
            case ("{", _):
                pieces += [.text(text), .field(try Self.field(in: &rest))]
                text = ""
            case ("}", _): throw InvalidValue("has a “}” without a “{”; write “}}” for the brace itself")
            default: text.append(character)
            }
        }
        self.pieces = pieces + [.text(text)]
    }

    private static func field(in rest: inout Substring) throws(InvalidValue) -> ServerField {
        guard let end = rest.firstIndex(of: "}") else {
            throw InvalidValue("has a “{” without a “}”; write “{{” for the brace itself")
        }
        let name = String(rest[..<end])
        rest = rest[end...].dropFirst()
        guard let field = ServerField(rawValue: name) else {
            let names = ServerField.allCases.map(\.rawValue)
            let suggestion = Nearest.suggestion(for: name, among: names)
            let advice = suggestion.isEmpty ? "; the fields are \(names.joined(separator: ", "))" : suggestion
            throw InvalidValue("has no field “{\(VisibleText.escape(name))}”\(advice)")
        }
        return field
    }

    /// The text for a server; `escape` is applied to each field, but not to the template's own text.
    func text(
        _ server: ServerState, host: String? = nil, now: Timestamp = TimeText.now,
        escape: (String) -> String = { $0 }
    ) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .field(let field): escape(field.value(server, host: host, now: now))
            }
        }.joined()
    }
}

enum ServerField: String, CaseIterable {
    case name, text, level, lastLevel, phase, source, description, message, mark, selected, stale, restored, since, age
    case changed, updated, revision, host, silenced, group, parent

    /// Its value, as people read it; empty if there is none.
    func value(_ server: ServerState, host: String? = nil, now: Timestamp) -> String {
        let status = server.status
        switch self {
        case .name: return server.name.rawValue
        case .text: return server.headline
        case .level: return ServerText.levelWord(server)
        case .lastLevel: return status?.level.rawValue ?? ""
        case .phase: return server.phase.rawValue
        case .source: return server.source
        case .description: return server.description ?? ""
        case .message: return server.message ?? ""
        case .mark: return server.isSelected ? "*" : ""
        case .selected: return server.isSelected ? "yes" : "no"
        case .stale: return server.isStale ? "yes" : "no"
        case .restored: return server.isRestored ? "yes" : "no"
        case .since: return status.map { TimeText.full($0.levelChangedAt) } ?? ""
        case .age: return status.map { TimeText.age($0.levelChangedAt, now: now) } ?? ""
        case .changed: return status.map { TimeText.full($0.changedAt) } ?? ""
        case .updated: return status.map { TimeText.full($0.updatedAt) } ?? ""
        case .revision: return "\(server.revision)"
        case .host: return host ?? ""
        case .silenced: return server.silence == nil ? "no" : "yes"
        case .group: return server.group?.rawValue ?? ""
        case .parent: return server.parent?.rawValue ?? ""
        }
    }
}
