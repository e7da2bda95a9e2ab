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
        case select(ServerName)
        /// Silence it for an hour, or end its silence.
        case silence(ServerName, Bool)
        case refresh(ServerName)
        case journal(ServerName)
    }

    /// How servers are sorted, as the title says; servers that are equal in this are sorted by name.
    enum Order: String, CaseIterable {
        case severity = "worst first"
        case name = "by name"
        case age = "newest change first"
    }

    private(set) var board = ServerBoard()
    /// Why the daemon is away; nil while it is not.
    private(set) var absence: String? = "connecting…"
    var page = Page.list
    var order = Order.severity
    /// The servers that match the filter, in order, when ``place()`` was last called.
    private(set) var shown: [ServerState] = []
    /// The text that names, texts, levels and descriptions must contain.
    var filter = ""
    /// Whether the user is typing the filter.
    var isTyping = false
    /// The server on which the user's bar is; the first one until the user moves it.
    private(set) var current: ServerName?
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
    /// The options with which statusctl reaches the daemon.
    var options: [String] = []
    /// The number of servers that fit on the screen, set by the view.
    var visibleRows = 1
    /// The columns of the list, and of the details beside it, set by the view.
    var columns = TopColumns(width: 80)

    // MARK: Servers

    /// The servers on the screen.
    var visible: ArraySlice<ServerState> { shown.dropFirst(offset).prefix(visibleRows) }

    /// The servers that match the filter, in order.
    private func arranged() -> [ServerState] {
        let matching = board.servers.filter(matches)
        let keys = matching.map(sortKey)
        return matching.indices.sorted { (-keys[$0], $0) < (-keys[$1], $1) }.map { matching[$0] }
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

    /// The server on which the user's bar is.
    var currentServer: ServerState? { current.flatMap { board[$0] } }

    /// Whether the last run of the current server's check is on the screen.
    var showsDetails: Bool { page == .details || page == .list && columns.details > 0 }

    /// The strip that must be read next; nil if none must, or the daemon is away.
    func dueStrip(now: Timestamp) -> TopStrips.Request? {
        absence == nil && page == .list ? strips.next(of: visible, now: now) : nil
    }

    // MARK: Events

    /// Takes over what the follower has noticed; ``place()`` follows before it is shown, not for each of many events.
    mutating func apply(_ step: EventFollower.Step) {
        switch step {
        case .event(let event):
            hasReturned()
            board.apply(event)
            if event.kind == .removed, let server = event.server { strips.forget(server.name) }
        case .away(let reason, _): absence = reason
        // Below, where there is room for it.
        case .stillAway(let advice): message = message ?? advice
        case .back: hasReturned()
        case .missing: break
        }
    }

    private mutating func hasReturned() {
        guard absence != nil else { return }
        // A request that failed meanwhile may succeed now, and levels may have changed unseen.
        (absence, message, strips) = (nil, nil, TopStrips())
    }

    /// Sorts the servers, moves the bar to one that is shown, and scrolls to it.
    mutating func place() {
        shown = arranged()
        if staysFirst, let first = shown.first { move(to: first.name) }
        // Details stay those of one server, also after it was removed.
        if current == nil || page != .details && !shown.contains(where: { $0.name == current }) {
            // The neighbour of one that is no longer shown.
            move(to: shown.isEmpty ? nil : shown[min(index, shown.count - 1)].name)
        }
        // A server that is gone, or hidden, keeps its position while its details are shown.
        index = shown.firstIndex { $0.name == current } ?? min(index, max(0, shown.count - 1))
        scroll()
    }

    /// Scrolls to the bar.
    mutating func scroll() {
        offset = min(max(offset, index - visibleRows + 1), index)
        offset = max(0, min(offset, shown.count - visibleRows))
    }

    mutating func move(to name: ServerName?) {
        guard name != current else { return }
        current = name
        (changes, changesMustBeRead, check) = ([], true, nil)
        detailsOffset = 0
    }
}
