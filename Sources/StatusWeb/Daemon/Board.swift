// SPDX-License-Identifier: Apache-2.0

#if Web
import DequeModule
import NIOCore
import StatusInterface
import StatusModel
import Varlink

/// What the daemon has told: the states that visitors see, and the newest events.
///
/// Of the servers of a hub, only some are kept and shown (``ShownServers``).
struct Board {
    /// How many events are kept for visitors who return.
    static let maximumEvents = 2048

    private(set) var shown = ShownServers()
    /// The position after the newest event; nil before the first snapshot.
    private(set) var cursor: Cursor?
    /// The newest events, and the revision after which they begin without a gap.
    private var recent: Deque<(revision: Int, frame: ByteBuffer)> = []
    private var beginning = 0

    var servers: [ServerName: ServerState] { shown.states }

    /// What a visitor who has seen everything up to a cursor still needs; nil if that is no longer known.
    func frames(since seen: Cursor) -> [ByteBuffer]? {
        guard let cursor, seen.epoch == cursor.epoch, seen.revision <= cursor.revision else { return nil }
        guard seen.revision >= beginning else { return nil }
        return recent.filter { $0.revision > seen.revision }.map(\.frame)
    }

    /// Takes all servers, as they are now.
    mutating func begin(_ servers: ShownServers, at cursor: Cursor) {
        (shown, self.cursor, recent, beginning) = (servers, cursor, [], cursor.revision)
    }

    /// Takes another event than a snapshot; returns its frame, or nil if it is none for visitors.
    mutating func take(_ event: Event) -> ByteBuffer? {
        defer { if event.kind != .alive, event.kind != .snapshot { cursor = event.cursor } }
        let change: ShownServers.Change
        switch event.kind {
        case .alive, .snapshot: return nil
        case .gap:
            (recent, beginning) = ([], event.cursor.revision)
            return Frame.event(event)
        case .removed: change = event.server.map { shown.remove($0.name) } ?? .unseen
        case .selected: change = shown.select(event.server)
        default: change = event.server.map { shown.note($0) } ?? .unseen
        }
        switch change {
        case .unseen: return nil
        case .others:
            // Whoever has seen what was shown until now needs a snapshot.
            (recent, beginning) = ([], event.cursor.revision)
            return nil
        case .shown(let hidden):
            let frame = Frame.event(event, hidden: hidden)
            recent.append((event.cursor.revision, frame))
            if recent.count > Self.maximumEvents { beginning = recent.removeFirst().revision }
            return frame
        }
    }

    /// Takes the state of a server for which there is room again; returns its frame, which has no position.
    mutating func fill(_ state: ServerState) -> ByteBuffer? {
        guard let cursor, shown.mayFill(state.name), case .shown(let hidden) = shown.note(state) else { return nil }
        return Frame.event(Event(kind: .updated, cursor: cursor, server: state), hidden: hidden, isNumbered: false)
    }

    /// The names of the hosts of which something has changed unseen since the last call.
    mutating func takeTouchedHosts() -> [ServerName] { shown.takeTouchedHosts() }

    /// A snapshot of what visitors see now.
    var snapshot: Event? {
        cursor.map { Event(kind: .snapshot, cursor: $0, servers: servers.values.sorted { $0.name < $1.name }) }
    }
}
#endif
