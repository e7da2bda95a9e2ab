// SPDX-License-Identifier: Apache-2.0

/// The kind of an entry in the history.
public enum ChangeKind: String, Sendable, CaseIterable {
    /// Text, level, phase or staleness changed.
    case changed
    /// The server was selected; without a server, no server is selected any more.
    case selected
    /// From then on, nobody was told of its problems; the state's message says until when, and why.
    case silenced
    /// A silence ended.
    case unsilenced
    case added
    case removed
    case started
    /// The daemon stopped; after a crash, this is the time when it last saved its state.
    case stopped
}

/// An entry in the history.
public struct Change: Hashable, Sendable {
    public var kind: ChangeKind
    /// The time of the change, by the wall clock at that time.
    public var at: Timestamp
    public var revision: Int
    /// The server that changed, in its state after the change.
    public var server: ServerState?
    /// The number of earlier changes of the server that were omitted because there were too many.
    public var omitted: Int
    /// The ID of the user whose client caused the change.
    public var user: UInt32?
    /// How long the state lasted, in milliseconds; nil if it still lasts, or is unknown.
    public var lasted: Int?

    public init(
        _ kind: ChangeKind, at time: Timestamp, revision: Int, server: ServerState? = nil, omitted: Int = 0,
        user: UInt32? = nil, lasted: Int? = nil
    ) {
        self.kind = kind
        at = time
        self.revision = revision
        self.server = server
        self.omitted = omitted
        self.user = user
        self.lasted = lasted
    }
}
