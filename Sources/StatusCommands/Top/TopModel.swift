// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport

/// What `top` shows, and how keys and events change it; no input, output or time of its own.
struct TopModel {
    /// What fills the screen.
    enum Page: Equatable {
        case list, details, help
    }

    /// What a key asks to have done.
    enum Action: Equatable {
        case quit, suspend, redraw
        case select(TopServer)
        /// Silence it for an hour, or end its silence.
        case silence(TopServer, Bool)
        case refresh(TopServer)
        case journal(TopServer)
    }

    /// How servers are sorted, as the title says; servers that are equal in this are sorted by name.
    enum Order: String, CaseIterable {
        case severity = "worst first"
        case name = "by name"
        case age = "newest change first"
    }

    private(set) var hosts: [TopHost]
    var page = Page.list
    var order = Order.severity
    /// The servers that match the filter, in order, when ``place()`` was last called.
    private(set) var shown: [TopRow] = []
    /// The groups whose members are hidden.
    var folded: Set<TopServer> = []
    /// The text that names, texts, levels and descriptions must contain.
    var filter = ""
    /// Whether the user is typing the filter.
    var isTyping = false
    /// The server on which the user's bar is; the first one until the user moves it.
    private(set) var current: TopServer?
    /// Its position in the list.
    var index = 0
    var staysFirst = true
    /// The first server on the screen.
    private(set) var offset = 0
    /// The first line of the details on the screen.
    var detailsOffset = 0
    /// The newest changes of the current server, as far as they are known.
    private(set) var changes: [Change] = []
    /// The last run of the current server's check, as far as it is known.
    private(set) var check: CheckRun?
    /// The number of changes that were read last, perhaps of another server.
    private(set) var lastCount = 0
    /// Whether the bar has moved since they were read.
    private(set) var changesMustBeRead = true
    /// The last hours of the servers on the screen.
    var strips = TopStrips()
    /// A message for the last line.
    var message: String?
    /// Whether the next key shows the command for what it does otherwise.
    var showsNextCommand = false
    /// The command that the user has asked for.
    var command: String?
    /// The number of servers that fit on the screen, set by the view.
    var visibleRows = 1
    /// The columns of the list, and of the details beside it, set by the view.
    var columns = TopColumns(width: 80)

    init(hosts: [TopHost] = [TopHost()]) {
        self.hosts = hosts
        strips.hosts = hosts.count
    }

    // MARK: Servers

    /// The servers on the screen.
    var visible: ArraySlice<TopRow> { shown.dropFirst(offset).prefix(visibleRows) }

    /// Whether the servers are those of several hosts.
    var hasSeveralHosts: Bool { hosts.count > 1 }

    /// Why the only host's daemon is away; nil while it is not, or if there are several hosts.
    var absence: String? { hasSeveralHosts ? nil : hosts[0].absence }

    /// All servers of all hosts, as they are shown.
    var servers: [ServerState] { hosts.flatMap { host in host.board.servers.map { Self.shown($0, of: host, hosts) } } }

    /// The number of all servers.
    var count: Int { hosts.reduce(0) { $0 + $1.board.count } }

    /// The state to show: if one of several hosts is away, its statuses are stale.
    private static func shown(_ server: ServerState, of host: TopHost, _ hosts: [TopHost]) -> ServerState {
        guard hosts.count > 1, host.absence != nil else { return server }
        var server = server
        server.isStale = true
        server.message = host.absence
        return server
    }

    /// The rows that match the filter, in order; without one, members are below their groups.
    private func arranged() -> [TopRow] {
        var rows: [(row: TopRow, key: Int64)] = []
        for (number, host) in hosts.enumerated() {
            for server in host.board.servers {
                // A host that is away for a moment does not move its servers.
                let row = TopRow(
                    id: TopServer(host: number, name: server.name), server: Self.shown(server, of: host, hosts),
                    isAway: host.absence != nil)
                if matches(row.server) { rows.append((row, sortKey(server))) }
            }
        }
        if hasSeveralHosts { rows.sort { ($0.row.name, $0.row.id.host) < ($1.row.name, $1.row.id.host) } }
        let sorted = rows.indices.sorted { (-rows[$0].key, $0) < (-rows[$1].key, $1) }.map { rows[$0] }
        guard filter.isEmpty else { return sorted.map(\.row) }
        let keys = Dictionary(sorted.map { ($0.row.id, $0.key) }) { $1 }
        return TopGroups(sorted.map(\.row), folded: folded).arranged(
            by: order == .severity ? { keys[$0.id] ?? 0 } : nil)
    }

    /// What servers with a larger number come before.
    private func sortKey(_ server: ServerState) -> Int64 {
        switch order {
        case .severity: Int64(Self.severity(server))
        case .name: 0
        case .age: server.status?.levelChangedAt.milliseconds ?? -.max
        }
    }

    static func severity(_ server: ServerState) -> Int { server.countedLevel?.severity ?? 0 }

    private func matches(_ server: ServerState) -> Bool {
        if filter.isEmpty { return true }
        let part = filter.lowercased()
        let texts = [
            server.name.rawValue, ServerText.tableText(server), server.description ?? "", ServerText.levelWord(server),
            server.countedLevel?.rawValue ?? "",
        ]
        return texts.contains { $0.lowercased().contains(part) }
    }

    /// Takes over the last run of the current server's check.
    mutating func show(_ check: CheckRun?) { self.check = check }

    /// Takes over the newest changes of the current server.
    mutating func show(_ changes: [Change]) {
        (self.changes, changesMustBeRead) = (changes, false)
        lastCount = changes.count
    }

    /// The state of the server on which the user's bar is, as it is shown.
    var currentServer: ServerState? {
        current.flatMap { id in state(of: id).map { Self.shown($0, of: hosts[id.host], hosts) } }
    }

    /// The last known state of a server; nil if it was removed.
    func state(of server: TopServer) -> ServerState? { hosts[server.host].board[server.name] }

    /// The name of a server, with its host if there are several.
    func label(of server: TopServer) -> String {
        hasSeveralHosts ? "\(server.name)@\(hosts[server.host].name)" : server.name.rawValue
    }

    /// The host of the server on which the user's bar is.
    var currentHost: TopHost? { current.map { hosts[$0.host] } }

    /// Whether the last run of the current server's check is on the screen.
    var showsDetails: Bool { page == .details || page == .list && columns.details > 0 }

    /// The strip of a host that must be read next; nil if none must, or its daemon is away.
    func dueStrip(of host: Int = 0, now: Timestamp) -> TopStrips.Request? {
        guard hosts[host].absence == nil, page == .list else { return nil }
        return strips.next(of: visible.filter { $0.id.host == host }, now: now)
    }

    // MARK: Events

    /// Takes over what the follower of a host has noticed; ``place()`` follows before it is shown, not for each of many
    /// events.
    mutating func apply(_ step: EventFollower.Step, of host: Int = 0, now: Timestamp = TimeText.now) {
        switch step {
        case .event(let event):
            if hosts[host].apply(event) { hasReturned(host) }
            if event.kind == .removed, let server = event.server {
                strips.forget(TopServer(host: host, name: server.name))
            }
        case .away(let reason, _):
            hosts[host].isAway(reason, now: now)
            // The title has no room for the reasons of several hosts.
            if hasSeveralHosts { message = message ?? reason }
        // Below, where there is room for it.
        case .stillAway(let advice): message = message ?? advice
        case .back: if hosts[host].hasReturned() { hasReturned(host) }
        case .missing: break
        }
    }

    /// A host's daemon has not answered for a while, or answers again.
    mutating func isSilent(_ host: Int, _ isSilent: Bool, now: Timestamp = TimeText.now) {
        if isSilent, hosts[host].absence == nil {
            hosts[host].isAway("the daemon does not answer", isSilent: true, now: now)
        } else if !isSilent, hosts[host].isSilent, hosts[host].hasReturned() {
            hasReturned(host)
        }
    }

    /// A request that failed meanwhile may succeed now, and levels may have changed unseen.
    private mutating func hasReturned(_ host: Int) {
        // A message may be about another host.
        if hosts.allSatisfy({ $0.absence == nil }) { message = nil }
        strips.forget(host: host)
    }

    /// Sorts the servers, moves the bar to one that is shown, and scrolls to it.
    mutating func place() {
        shown = arranged()
        if staysFirst, let first = shown.first { move(to: first.id) }
        // Details stay those of one server, also after it was removed.
        if current == nil || page != .details && !shown.contains(where: { $0.id == current }) {
            // The neighbour of one that is no longer shown.
            move(to: shown.isEmpty ? nil : shown[min(index, shown.count - 1)].id)
        }
        // A server that is gone, or hidden, keeps its position while its details are shown.
        index = shown.firstIndex { $0.id == current } ?? min(index, max(0, shown.count - 1))
        scroll()
    }

    /// Scrolls to the bar.
    mutating func scroll() {
        offset = min(max(offset, index - visibleRows + 1), index)
        offset = max(0, min(offset, shown.count - visibleRows))
    }

    mutating func move(to server: TopServer?) {
        guard server != current else { return }
        current = server
        (changes, changesMustBeRead, check) = ([], true, nil)
        detailsOffset = 0
    }
}
