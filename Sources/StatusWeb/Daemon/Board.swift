// SPDX-License-Identifier: Apache-2.0

#if Web
import DequeModule
import NIOCore
import StatusInterface
import StatusModel
import Varlink

/// What the daemon has told: the state of each server, and the newest events.
struct Board {
    /// How many events are kept for visitors who return.
    static let maximumEvents = 2048

    private(set) var servers: [ServerName: ServerState] = [:]
    /// The position after the newest event; nil before the first snapshot.
    private(set) var cursor: Cursor?
    /// The newest events, and the revision after which they begin without a gap.
    private var recent: Deque<(revision: Int, frame: ByteBuffer)> = []
    private var beginning = 0

    /// What a visitor who has seen everything up to a cursor still needs; nil if that is no longer known.
    func frames(since seen: Cursor) -> [ByteBuffer]? {
        guard let cursor, seen.epoch == cursor.epoch, seen.revision <= cursor.revision else { return nil }
        guard seen.revision >= beginning else { return nil }
        return recent.filter { $0.revision > seen.revision }.map(\.frame)
    }

    /// Takes an event, and notes its frame.
    mutating func take(_ event: Event, _ frame: ByteBuffer) {
        switch event.kind {
        case .snapshot:
            let states = event.servers ?? []
            servers = Dictionary(states.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            (recent, beginning) = ([], event.cursor.revision)
        case .gap: (recent, beginning) = ([], event.cursor.revision)
        case .alive: return
        case .removed: if let name = event.server?.name { servers[name] = nil }
        case .selected:
            for name in servers.keys where servers[name]?.isSelected == true { servers[name]?.isSelected = false }
            note(event)
        default: note(event)
        }
        if event.kind != .snapshot, event.kind != .gap {
            recent.append((event.cursor.revision, frame))
            if recent.count > Self.maximumEvents { beginning = recent.removeFirst().revision }
        }
        cursor = event.cursor
    }

    private mutating func note(_ event: Event) {
        if let state = event.server { servers[state.name] = state }
    }

    /// A snapshot of now.
    var snapshot: Event? {
        cursor.map { Event(kind: .snapshot, cursor: $0, servers: servers.values.sorted { $0.name < $1.name }) }
    }
}
#endif
