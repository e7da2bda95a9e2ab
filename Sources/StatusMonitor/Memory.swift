// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// The data of a server that is kept over a restart.
public struct ServerMemory: Equatable, Sendable {
    public var state: ServerState
    public var definition: ServerDefinition
    public var followed: Revisions
    /// The time since boot of its last sign of life, or of its addition.
    public var refreshedAt: Duration
    /// The end of its grace period after an earlier restart (``LedgerMemory``).
    public var graceEnd: Duration?
    /// The time to live that its program requested.
    public var ownTimeToLive: Duration?
    /// Whether its status stays stale until the next sign of life.
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

/// The data of a server's source that is kept over a restart.
public struct SourceMemory: Hashable, Sendable {
    /// Whether the server is not configured, but was added by a post.
    public var isGuest = false
    /// Identifies the subject of the shown status by a number that is the same in every run; nil if there is none.
    public var subject: Int64?
    /// The number of results in a row that do not count yet.
    ///
    /// It is positive if they are worse than the shown status, negative if they are better.
    public var streak = 0
    /// Whether the last known run of a unit failed, which its service manager may have forgotten.
    public var hasFailed = false
    /// The user whose program requested a time to live.
    public var timeToLiveUser: UInt32?

    public init() {}
}

/// The data of the selection and the event log that is kept over a restart.
public struct LogMemory: Equatable, Sendable {
    /// The epoch of the cursors, which continues after a clean stop.
    public var epoch: Epoch
    public var revision: Int
    /// The last events for readers of all servers.
    public var followedOfAll = Revisions()
    /// The last events for readers of the selected server.
    public var followed = Revisions()
    public var selected: ServerName?
    /// The revision at which it was selected.
    public var selectionRevision = 0
    public var notedAt: Moment

    public init(epoch: Epoch, revision: Int, notedAt: Moment) {
        self.epoch = epoch
        self.revision = revision
        self.notedAt = notedAt
    }
}

/// All data that is kept over a restart; a new monitor begins with it.
///
/// A server gets a grace period of one interval if its time to live ended while the daemon was down, or ends before its
/// next check, because it could not report.
public struct LedgerMemory: Sendable {
    /// The selection and the positions of the log.
    public var log: LogMemory
    /// The newest entries, in order and up to the newest; they count only if ``isComplete``.
    public var entries: [LogEntry]
    /// The servers, sorted by name.
    public var servers: [ServerMemory]
    /// Whether the machine has not booted since.
    public var isOfThisBoot: Bool
    /// Whether the data is complete because the daemon was stopped; false if the daemon was killed.
    public var isComplete = true

    public init(log: LogMemory, entries: [LogEntry] = [], servers: [ServerMemory], isOfThisBoot: Bool) {
        self.log = log
        self.entries = entries
        self.servers = servers
        self.isOfThisBoot = isOfThisBoot
    }

    /// The number to add to a saved time since boot, to convert it to this boot.
    ///
    /// The time in between is measured by the wall clock.
    public func shift(to now: Moment) -> Duration {
        if isOfThisBoot { return .zero }
        let between = max(0, now.wall.milliseconds - log.notedAt.wall.milliseconds)
        return now.boot - log.notedAt.boot - .milliseconds(between)
    }
}
