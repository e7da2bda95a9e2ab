// SPDX-License-Identifier: Apache-2.0

/// What an event says.
public enum EventKind: String, Sendable, CaseIterable {
    /// The state as it is now: first on every stream, and again after each gap.
    case snapshot
    /// The selection moved; the event carries all of the server that is now selected.
    case selected
    /// Text, level, phase or staleness became another.
    case changed
    /// Posted again unchanged, or described anew; only where updates were asked for.
    case updated
    /// A load began that somebody asked for.
    case refreshing
    /// That load ended.
    case refreshed
    /// A server appeared.
    case added
    /// A server went away.
    case removed
    /// The reader was too slow, or its cursor is too old.
    case gap
    /// There is nothing else to say.
    case alive
}

/// One line of a stream.
public struct Event: Hashable, Sendable {
    /// What it says.
    public let kind: EventKind
    /// Where the reader stands once it has read this.
    public let cursor: Cursor
    /// The server it is about, with all of its state.
    public var server: ServerState? { snapshot?.state }
    /// The same, as the log shares it.
    public let snapshot: ServerSnapshot?
    /// All servers, in a snapshot of all.
    public let servers: [ServerState]?
    /// In a gap: how many events this reader missed, nil where that is not known.
    public let missed: Int?

    /// An event with what belongs to its kind.
    public init(
        kind: EventKind, cursor: Cursor, server: ServerState? = nil, servers: [ServerState]? = nil, missed: Int? = nil
    ) {
        self.kind = kind
        self.cursor = cursor
        snapshot = server.map { ServerSnapshot($0) }
        self.servers = servers
        self.missed = missed
    }

    /// An event about a server, with a state that others share.
    public init(kind: EventKind, cursor: Cursor, snapshot: ServerSnapshot?) {
        self.kind = kind
        self.cursor = cursor
        self.snapshot = snapshot
        servers = nil
        missed = nil
    }
}
