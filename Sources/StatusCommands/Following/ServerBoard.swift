// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// All servers, as a stream of all events shows them.
struct ServerBoard {
    private let scope: ServerScope
    private let limit: Int
    private var states: [ServerName: ServerState] = [:]

    /// - Parameters:
    ///   - scope: the servers that the stream is about.
    ///   - limit: the most servers, as many as a configuration may allow, because a peer that is not statusd might name
    ///     servers without end.
    init(of scope: ServerScope = ServerScope(), limit: Int = 200_000) { (self.scope, self.limit) = (scope, limit) }

    var count: Int { states.count }

    var servers: [ServerState] { states.values.sorted { $0.name < $1.name } }

    /// The state of a server; nil if there is none.
    subscript(name: ServerName) -> ServerState? { states[name] }

    mutating func apply(_ event: Event) {
        switch event.kind {
        case .snapshot:
            states = Dictionary((event.servers ?? []).prefix(limit).map { ($0.name, $0) }) { $1 }
        case .selected:
            for name in states.keys { states[name]?.isSelected = false }
            if let server = event.server { put(server) }
        case .changed, .updated, .silenced, .unsilenced, .added, .refreshing, .refreshed:
            if let server = event.server { put(server) }
        case .removed: if let server = event.server { states[server.name] = nil }
        case .gap, .alive: return
        }
    }

    private mutating func put(_ server: ServerState) {
        guard scope.includes(server) else { return states[server.name] = nil }
        if states[server.name] != nil || states.count < limit { states[server.name] = server }
    }
}
