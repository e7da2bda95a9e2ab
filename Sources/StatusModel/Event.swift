// SPDX-License-Identifier: Apache-2.0

public enum EventKind: String, Sendable, CaseIterable {
    /// The current state: first in every stream, and again after each gap.
    case snapshot
    /// The selection moved; the event has the state of the newly selected server.
    case selected
    /// Text, level, phase or staleness changed.
    case changed
    /// Posted again unchanged, or given another description; sent only if the reader requested updates.
    case updated
    /// From now on, nobody is told of its problems, or until another time.
    case silenced
    /// A silence has ended.
    case unsilenced
    /// A requested check started.
    case refreshing
    /// A requested check ended.
    case refreshed
    case added
    case removed
    /// The reader was too slow, or its cursor is too old.
    case gap
    /// Nothing happened; the stream is alive.
    case alive
}

public struct Event: Hashable, Sendable {
    public let kind: EventKind
    /// The reader's position after this event.
    public let cursor: Cursor
    /// The state of the server that the event concerns.
    public var server: ServerState? { snapshot?.state }
    /// The state of that server, shared with the event log.
    public let snapshot: ServerSnapshot?
    /// All servers, or some of them; only in a snapshot of all servers.
    public let servers: [ServerState]?
    /// Whether the next event has more servers of the same snapshot.
    public let continues: Bool
    /// The number of events that the reader missed in a gap; nil if unknown.
    public let missed: Int?
    /// The client that caused the event; only for the daemon's own readers.
    public let caller: Caller?

    public init(
        kind: EventKind, cursor: Cursor, server: ServerState? = nil, servers: [ServerState]? = nil,
        continues: Bool = false, missed: Int? = nil
    ) {
        self.kind = kind
        self.cursor = cursor
        snapshot = server.map { ServerSnapshot($0) }
        self.servers = servers
        self.continues = continues
        self.missed = missed
        caller = nil
    }

    /// Creates an event with the shared state of a server.
    public init(kind: EventKind, cursor: Cursor, snapshot: ServerSnapshot?, caller: Caller? = nil) {
        self.kind = kind
        self.cursor = cursor
        self.snapshot = snapshot
        servers = nil
        continues = false
        missed = nil
        self.caller = caller
    }
}

/// The process that made a change through the control interface, as reported by the kernel.
public struct Caller: Hashable, Sendable {
    /// The user ID.
    public var user: UInt32
    /// The process ID; the process may have ended since.
    public var process: Int32

    public init(user: UInt32, process: Int32) {
        self.user = user
        self.process = process
    }
}
