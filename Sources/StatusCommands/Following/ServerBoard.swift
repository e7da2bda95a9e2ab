// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// All servers, as a stream of all events shows them.
struct ServerBoard {
    private let scope: ServerScope
    private let limit: Int
    private var states: [ServerName: ServerState] = [:]
    private var selected: ServerName?

    /// - Parameters:
    ///   - scope: the servers that the stream is about.
    ///   - limit: the most servers, as many as a configuration may allow, because a peer that is not statusd might name
    ///     servers without end.
    init(of scope: ServerScope = ServerScope(), limit: Int = 200_000) { (self.scope, self.limit) = (scope, limit) }

    var count: Int { states.count }

    /// All states, sorted by name.
    var servers: [ServerState] { states.values.sorted { $0.name < $1.name } }

    /// The names of all servers, in no order.
    var names: some Sequence<ServerName> { states.keys }

    /// The state of a server; nil if there is none.
    subscript(name: ServerName) -> ServerState? { states[name] }

    /// Takes over an event; returns the servers that it has changed, or nil if it may be all of them.
    @discardableResult
    mutating func apply(_ event: Event) -> [ServerName]? {
        switch event.kind {
        case .snapshot:
            states = Dictionary((event.servers ?? []).prefix(limit).map { ($0.name, $0) }) { $1 }
            selected = states.values.first(where: \.isSelected)?.name
            return nil
        case .selected:
            let changed = [selected, event.server?.name].compactMap(\.self)
            if let selected { states[selected]?.isSelected = false }
            selected = event.server?.name
            if let server = event.server { put(server) }
            return changed
        case .changed, .updated, .silenced, .unsilenced, .added, .refreshing, .refreshed:
            if let server = event.server { put(server) }
        case .removed: if let server = event.server { states[server.name] = nil }
        case .gap, .alive: return []
        }
        return event.server.map { [$0.name] } ?? []
    }

    private mutating func put(_ server: ServerState) {
        guard scope.includes(server) else { return states[server.name] = nil }
        if states[server.name] != nil || states.count < limit { states[server.name] = server }
    }
}
