// SPDX-License-Identifier: Apache-2.0

/// The times that a server spent in each level, in milliseconds.
public struct LevelTimes: Hashable, Sendable {
    public var ok = 0
    public var warning = 0
    public var critical = 0
    /// The level was unknown, the status was stale, or the last check had failed.
    public var unknown = 0
    /// There was no status, or the daemon was not running.
    public var none = 0

    public init() {}

    /// The time in a level; nil for the time without a status.
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

    /// The time with any level.
    public var known: Int { ok + warning + critical + unknown }

    /// The fraction of the known time in which the server worked, from 0 to 1; nil if nothing is known.
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

/// The history of one server in a part of a period.
public struct SummaryBucket: Hashable, Sendable {
    /// The beginning of the part.
    public var start: Timestamp
    /// The worst level; nil for none.
    public var worst: Level?
    public var times = LevelTimes()
    public var changes = 0
    /// The average of the summary's value; nil if it was not measured in this part.
    public var value: Double?

    public init(start: Timestamp) { self.start = start }
}

/// The value whose averages a summary has.
public struct SummaryValue: Hashable, Sendable {
    public var name: String
    /// As in ``MeasuredValue``.
    public var unit: String
    /// The names of all values that were measured in the period.
    public var names: [String]

    public init(name: String, unit: String, names: [String]) {
        (self.name, self.unit, self.names) = (name, unit, names)
    }
}

/// The history of one server in equal parts of a period.
public struct StatusSummary: Hashable, Sendable {
    public var server: ServerName
    /// The beginning of the period.
    public var since: Timestamp
    /// The end of the period.
    public var until: Timestamp
    /// The parts, in order.
    public var buckets: [SummaryBucket]
    /// The beginning of the server's history, if that is later than the beginning of the period.
    public var knownSince: Timestamp?
    /// The value whose average the parts have; nil if none was requested, or nothing was measured.
    public var measured: SummaryValue?

    public init(server: ServerName, since: Timestamp, until: Timestamp, buckets: [SummaryBucket]) {
        self.server = server
        self.since = since
        self.until = until
        self.buckets = buckets
    }

    /// The index of the part with this time, or of the nearest one.
    public func bucket(at time: Timestamp) -> Int {
        let length = Double(until.milliseconds - since.milliseconds)
        guard length > 0 else { return 0 }
        let part = Double(time.milliseconds - since.milliseconds) / length
        return min(max(0, Int(part * Double(buckets.count))), buckets.count - 1)
    }

    public var times: LevelTimes { buckets.reduce(LevelTimes()) { $0 + $1.times } }

    public var changes: Int { buckets.reduce(0) { $0 + $1.changes } }
}
