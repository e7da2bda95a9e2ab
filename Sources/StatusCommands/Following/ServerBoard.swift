// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// All servers, as a stream of all events shows them.
struct ServerBoard {
    private let scope: ServerScope
    private let limit: Int
    private var states: [ServerName: ServerState] = [:]
    private var selected: ServerName?
    /// The names in order; nil if servers were added or removed since they were sorted.
    private var sortedNames: [ServerName]?

    /// - Parameters:
    ///   - scope: the servers that the stream is about.
    ///   - limit: the most servers, as many as a configuration may allow, because a peer that is not statusd might name
    ///     servers without end.
    init(of scope: ServerScope = ServerScope(), limit: Int = 200_000) { (self.scope, self.limit) = (scope, limit) }

    var count: Int { states.count }

    /// All states, sorted by name.
    var servers: [ServerState] {
        mutating get {
            let names = sortedNames ?? states.keys.sorted()
            sortedNames = names
            return names.compactMap { states[$0] }
        }
    }

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
            sortedNames = nil
            return nil
        case .selected:
            let changed = [selected, event.server?.name].compactMap(\.self)
            if let selected { states[selected]?.isSelected = false }
            selected = event.server?.name
            if let server = event.server { put(server) }
            return changed
        case .changed, .updated, .silenced, .unsilenced, .added, .refreshing, .refreshed:
            if let server = event.server { put(server) }
        case .removed: if let server = event.server { remove(server.name) }
        case .gap, .alive: return []
        }
        return event.server.map { [$0.name] } ?? []
    }

    private mutating func remove(_ name: ServerName) {
        if states.removeValue(forKey: name) != nil { sortedNames = nil }
    }

    private mutating func put(_ server: ServerState) {
        guard scope.includes(server) else { return remove(server.name) }
        guard states[server.name] == nil else { return states[server.name] = server }
        if states.count < limit { (states[server.name], sortedNames) = (server, nil) }
    }
}
