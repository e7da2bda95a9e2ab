// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// All servers, as a stream of all events shows them.
struct ServerBoard {
    private let limit: Int
    private var states: [ServerName: ServerState] = [:]
    /// The names in order.
    private var names: [ServerName] = []

    /// - Parameter limit: the most servers, as many as a configuration may allow, because a peer that is not statusd
    ///   might name servers without end.
    init(limit: Int = 65_536) { self.limit = limit }

    /// The servers, by name.
    var servers: [ServerState] { names.compactMap { states[$0] } }

    /// The state of a server; nil if there is none.
    subscript(name: ServerName) -> ServerState? { states[name] }

    /// Takes over an event.
    mutating func apply(_ event: Event) {
        switch event.kind {
        case .snapshot:
            states = Dictionary((event.servers ?? []).prefix(limit).map { ($0.name, $0) }) { $1 }
            names = states.keys.sorted { $0.rawValue < $1.rawValue }
        case .selected:
            for name in states.keys { states[name]?.isSelected = false }
            if let server = event.server { put(server) }
        case .changed, .updated, .added, .refreshing, .refreshed:
            if let server = event.server { put(server) }
        case .removed:
            guard let server = event.server, states.removeValue(forKey: server.name) != nil else { return }
            names.remove(at: place(of: server.name))
        case .gap, .alive: return
        }
    }

    private mutating func put(_ server: ServerState) {
        if states[server.name] == nil {
            guard states.count < limit else { return }
            names.insert(server.name, at: place(of: server.name))
        }
        states[server.name] = server
    }

    /// The number of names before this one; a reload may add thousands of servers, so it is not counted.
    private func place(of name: ServerName) -> Int {
        var range = 0..<names.count
        while let last = range.last {
            let middle = range.lowerBound + (last - range.lowerBound) / 2
            range = names[middle].rawValue < name.rawValue ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
