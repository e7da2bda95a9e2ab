// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A field of `--format`.
enum ServerField: String, CaseIterable {
    case name, text, level, lastLevel, phase, source, description, message, mark, selected, stale, restored, since, age
    case changed, updated, revision, host

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
        }
    }
}
