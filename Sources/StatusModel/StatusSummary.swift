// SPDX-License-Identifier: Apache-2.0

/// How long a server had each level, in milliseconds.
public struct LevelTimes: Hashable, Sendable {
    public var ok = 0
    public var warning = 0
    public var critical = 0
    /// The level was unknown, the status stale, or the last load had failed.
    public var unknown = 0
    /// There was no status, or the daemon did not run.
    public var none = 0

    public init() {}

    /// The time in a level; nil is none.
    public subscript(level: Level?) -> Int {
        get {
            switch level {
            case .ok: ok
            case .warning: warning
            case .critical: critical
            case .unknown: unknown
            case nil: none
            }
        }
        set {
            switch level {
            case .ok: ok = newValue
            case .warning: warning = newValue
            case .critical: critical = newValue
            case .unknown: unknown = newValue
            case nil: none = newValue
            }
        }
    }

    /// The time in which the level was known to be anything.
    public var known: Int { ok + warning + critical + unknown }

    /// The part of the known time in which the server worked, from 0 to 1; nil if nothing is known.
    ///
    /// A warning counts as working, as in the Nagios plugin guidelines: “appeared to be above some warning threshold”.
    public var availability: Double? { known > 0 ? Double(ok + warning) / Double(known) : nil }

    public static func + (left: LevelTimes, right: LevelTimes) -> LevelTimes {
        var sum = LevelTimes()
        for level in Level.allCases { sum[level] = left[level] + right[level] }
        sum.none = left.none + right.none
        return sum
    }
}

/// A part of a period, and the history of one server in it.
public struct SummaryBucket: Hashable, Sendable {
    /// Its beginning.
    public var start: Timestamp
    /// The worst level; nil if there was none.
    public var worst: Level?
    /// The time in each level.
    public var times = LevelTimes()
    /// The number of changes.
    public var changes = 0

    public init(start: Timestamp) { self.start = start }
}

/// The history of one server in equal parts of a period.
public struct StatusSummary: Hashable, Sendable {
    /// The server.
    public var server: ServerName
    /// The beginning of the period.
    public var since: Timestamp
    /// Its end.
    public var until: Timestamp
    /// Its parts, in order.
    public var buckets: [SummaryBucket]
    /// When the history begins, if that is later than the beginning of the period.
    public var knownSince: Timestamp?

    public init(server: ServerName, since: Timestamp, until: Timestamp, buckets: [SummaryBucket]) {
        self.server = server
        self.since = since
        self.until = until
        self.buckets = buckets
    }

    /// The times of all buckets together.
    public var times: LevelTimes { buckets.reduce(LevelTimes()) { $0 + $1.times } }

    /// The number of changes in all buckets.
    public var changes: Int { buckets.reduce(0) { $0 + $1.changes } }
}
