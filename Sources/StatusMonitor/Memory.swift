// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// What a restart keeps of a server.
public struct ServerMemory: Equatable, Sendable {
    /// Its state.
    public var state: ServerState
    /// Its properties at that time.
    public var definition: ServerDefinition
    /// Its last event.
    public var followed: Revisions
    /// The time since boot of its last sign of life, or of its addition.
    public var refreshedAt: Duration
    /// The end of its grace after an earlier restart (``LedgerMemory``).
    public var graceEnd: Duration?
    /// The time to live that its program requested.
    public var ownTimeToLive: Duration?
    /// Whether it stays stale until the next sign of life.
    public var staysStale: Bool

    public init(
        state: ServerState, definition: ServerDefinition, followed: Revisions, refreshedAt: Duration,
        graceEnd: Duration? = nil, ownTimeToLive: Duration? = nil, staysStale: Bool = false
    ) {
        self.state = state
        self.definition = definition
        self.followed = followed
        self.refreshedAt = refreshedAt
        self.graceEnd = graceEnd
        self.ownTimeToLive = ownTimeToLive
        self.staysStale = staysStale
    }
}

/// What a restart keeps of a server's source.
public struct SourceMemory: Hashable, Sendable {
    /// Whether the server is not configured, but was added by a post.
    public var isGuest = false
    /// Identifies the subject of its shown status, as a number that stays the same from run to run; nil if there is
    /// none.
    public var subject: Int64?
    /// The number of results in a row that do not count yet: positive if they are worse than the shown one, negative if
    /// better.
    public var streak = 0
    /// The user whose program requested a time to live.
    public var timeToLiveUser: UInt32?

    public init() {}
}

/// What a restart keeps of the selection and the event log.
public struct LogMemory: Equatable, Sendable {
    /// The epoch of the cursors, which continues after a clean stop.
    public var epoch: Epoch
    /// The newest event.
    public var revision: Int
    /// The last events for readers of all servers.
    public var followedOfAll = Revisions()
    /// The last events for readers of the selected server.
    public var followed = Revisions()
    /// The newest dropped events: of all servers, and of the selected ones.
    public var droppedOfAll = Revisions()
    public var droppedOfSelected = Revisions()
    /// The selected server.
    public var selected: ServerName?
    /// The revision at which it was selected.
    public var selectionRevision = 0
    /// When this was noted.
    public var notedAt: Moment

    public init(epoch: Epoch, revision: Int, notedAt: Moment) {
        self.epoch = epoch
        self.revision = revision
        self.notedAt = notedAt
    }
}

/// What a restart keeps: to be given to a new monitor.
///
/// A server whose time to live ended while the daemon was down, or ends before its next check, gets one interval of
/// grace: it could not report.
public struct LedgerMemory: Sendable {
    /// The selection and the positions of the log.
    public var log: LogMemory
    /// The newest entries, in order and up to the newest; they count only if ``isComplete``.
    public var entries: [LogEntry]
    /// The servers, sorted by name.
    public var servers: [ServerMemory]
    /// Whether the machine has not booted since.
    public var isOfThisBoot: Bool
    /// Whether nothing happened after that, because the daemon was stopped; false if it was killed.
    public var isComplete = true

    public init(log: LogMemory, entries: [LogEntry] = [], servers: [ServerMemory], isOfThisBoot: Bool) {
        self.log = log
        self.entries = entries
        self.servers = servers
        self.isOfThisBoot = isOfThisBoot
    }

    /// What to add to a time since boot, so that it is one of this boot; the time between counts by the wall clock.
    func shift(to now: Moment) -> Duration {
        if isOfThisBoot { return .zero }
        let between = max(0, now.wall.milliseconds - log.notedAt.wall.milliseconds)
        return now.boot - log.notedAt.boot - .milliseconds(between)
    }
}
