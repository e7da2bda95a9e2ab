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

        var inList: TopList.Order {
            switch self {
            case .severity: .severity
            case .name: .name
            case .age: .age
            }
        }
    }

    private(set) var hosts: [TopHost]
    var page = Page.list
    var order = Order.severity { didSet { list.order = order.inList } }
    /// The servers that match the filter, in order.
    var list: TopList
    /// Whether the list must be made again from all servers.
    private var listIsOld = true
    /// The text that names, texts, levels and descriptions must contain.
    var filter = "" { didSet { if filter != oldValue { filterList() } } }
    /// Whether the user is typing the filter.
    var isTyping = false
    /// The server on which the user's bar is; the first one until the user moves it.
    var current: TopServer? { list.current }
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
        list = TopList(hostNames: hosts.count > 1 ? hosts.map(\.name) : [])
        strips.hosts = hosts.count
    }

    // MARK: Servers

    /// The servers on the screen.
    var visible: [TopRow] { shown.dropFirst(offset).prefix(visibleRows).map(row) }

    /// Whether the servers are those of several hosts.
    var hasSeveralHosts: Bool { hosts.count > 1 }

    /// Why the only host's daemon is away; nil while it is not, or if there are several hosts.
    var absence: String? { hasSeveralHosts ? nil : hosts[0].absence }

    /// The rows when ``place()`` was last called.
    var shown: [TopList.Place] { list.places }

    /// The number of all servers.
    var count: Int { list.count }

    /// The state to show: if one of several hosts is away, its statuses are stale.
    private static func shown(_ server: ServerState, of host: TopHost, _ hosts: [TopHost]) -> ServerState {
        guard hosts.count > 1, host.absence != nil else { return server }
        var server = server
        server.isStale = true
        server.message = host.absence
        return server
    }

    /// Brings the list up to date.
    private mutating func arrange() {
        if listIsOld {
            listIsOld = false
            list.removeAll()
            for host in hosts.indices {
                for name in hosts[host].board.names { note(TopServer(host: host, name: name)) }
            }
        }
        list.arrange()
    }

    private mutating func note(_ id: TopServer) {
        let state = shownState(of: id)
        list.note(id, state.map { TopList.Node($0, matches: filter.isEmpty || matcher($0)) })
    }

    private mutating func filterList() {
        let (matches, hosts) = (matcher, hosts)
        list.filter(
            filter.isEmpty
                ? nil
                : { id in
                    let host = hosts[id.host]
                    return host.board[id.name].map { matches(Self.shown($0, of: host, hosts)) } ?? false
                })
    }

    /// Whether a server has the text of the filter.
    private var matcher: (ServerState) -> Bool {
        let part = Array(filter.lowercased().utf8)
        let isPlain = part.allSatisfy { $0 < 0x80 }
        func has(_ text: String?) -> Bool {
            guard let text else { return false }
            return (isPlain ? text : text.lowercased()).contains(lowercased: part)
        }
        return { server in
            has(server.name.rawValue) || has(ServerText.tableText(server)) || has(server.description)
                || has(ServerText.levelWord(server)) || has(server.countedLevel?.rawValue)
        }
    }

    /// The row of a place in the list.
    func row(_ place: TopList.Place) -> TopRow {
        // What is in the list is on a board.
        let state = shownState(of: place.id) ?? ServerState(name: place.name, source: "", phase: .empty)
        return TopRow(
            id: place.id, server: state, isAway: hosts[place.id.host].absence != nil, label: list.label(of: place),
            note: list.note(of: place))
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
        current.flatMap(shownState)
    }

    private func shownState(of id: TopServer) -> ServerState? {
        state(of: id).map { Self.shown($0, of: hosts[id.host], hosts) }
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
            if let names = hosts[host].apply(event) {
                for name in names { note(TopServer(host: host, name: name)) }
            } else {
                listIsOld = true
            }
            if hosts[host].hasReturned() { hasReturned(host) }
            if event.kind == .removed, let server = event.server {
                strips.forget(TopServer(host: host, name: server.name))
            }
        case .away(let reason, _):
            hosts[host].isAway(reason, now: now)
            listIsOld = true
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
            listIsOld = true
        } else if !isSilent, hosts[host].isSilent, hosts[host].hasReturned() {
            hasReturned(host)
        }
    }

    /// A request that failed meanwhile may succeed now, and levels may have changed unseen.
    private mutating func hasReturned(_ host: Int) {
        listIsOld = true
        // A message may be about another host.
        if hosts.allSatisfy({ $0.absence == nil }) { message = nil }
        strips.forget(host: host)
    }

    /// Sorts the servers, moves the bar to one that is shown, and scrolls to it.
    mutating func place() {
        arrange()
        if staysFirst, let first = shown.first { move(to: first.id) }
        // Details stay those of one server, also after it was removed.
        if current == nil || page != .details && !shown.contains(where: { $0.id == current }) {
            // The neighbour of one that is no longer shown.
            move(to: shown.isEmpty ? nil : shown[min(index, shown.count - 1)].id)
        }
        // The group under the bar may unfold, and the one that it left may fold.
        arrange()
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
        list.current = server
        (changes, changesMustBeRead, check) = ([], true, nil)
        detailsOffset = 0
    }
}
