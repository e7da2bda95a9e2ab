// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// All servers, as a stream of all events shows them.
struct ServerBoard {
    /// As many as a configuration may allow; a peer that is not statusd might name servers without end.
    private static let mostServers = 65_536

    private var states: [ServerName: ServerState] = [:]
    /// The names in order; they change seldom.
    private var names: [ServerName] = []

    /// The servers, by name.
    var servers: [ServerState] { names.compactMap { states[$0] } }

    /// The state of a server; nil if there is none.
    subscript(name: ServerName) -> ServerState? { states[name] }

    /// Takes over an event.
    mutating func apply(_ event: Event) {
        switch event.kind {
        case .snapshot:
            states = Dictionary((event.servers ?? []).map { ($0.name, $0) }) { $1 }
        case .selected:
            for name in states.keys { states[name]?.isSelected = false }
            if let server = event.server { states[server.name] = server }
        case .changed, .updated, .added, .refreshing, .refreshed:
            guard let server = event.server, states.count < Self.mostServers || states[server.name] != nil else {
                return
            }
            states[server.name] = server
        case .removed:
            guard let server = event.server else { return }
            states[server.name] = nil
        case .gap, .alive: return
        }
        // An event removes or adds at most one server, or replaces all.
        if event.kind == .snapshot || names.count != states.count {
            names = states.keys.sorted { $0.rawValue < $1.rawValue }
        }
    }
}
