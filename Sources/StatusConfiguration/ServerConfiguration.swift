// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

/// One server's configuration.
public struct ServerConfiguration: Equatable, Sendable {
    /// What people are told about it.
    public var description: String?
    /// Where its statuses come from; nil if no source that works is configured.
    public var source: AnySourceSettings?
    /// What is shown until it has a status; nil: what is shown of all that say nothing else.
    public var placeholder: String?
    /// How long a status holds; nil: see ``lifetime``.
    public var timeToLive: Duration?
    /// When a check runs, and when its result, or a unit's state, counts.
    public var schedule: CheckSchedule
    /// How long a unit may run that runs to its end; nil: as long as it likes.
    public var runtime: Duration?
    /// Why it cannot be followed; nil where it can.
    public var failure: String?
    /// The file that says so.
    public var origin: Origin

    /// A server's configuration with what belongs to it.
    public init(
        description: String? = nil, source: AnySourceSettings?, placeholder: String?, timeToLive: Duration? = nil,
        schedule: CheckSchedule = CheckSchedule(), runtime: Duration? = nil, failure: String? = nil, origin: Origin
    ) {
        self.description = description
        self.source = source
        self.placeholder = placeholder
        self.timeToLive = timeToLive
        self.schedule = schedule
        self.runtime = runtime
        self.failure = failure
        self.origin = origin
    }

    /// Whether its statuses are loaded, so that a load can be asked for.
    public var isRefreshable: Bool { source.map { $0.delivery != .posted } ?? false }

    /// How long a status holds: as long as somebody says, or, where it is checked, twice as long as it may be from one load to the next; nil: for
    /// ever.
    ///
    /// A check that gets no place, because others take all, would else show its last status for ever.
    public var lifetime: Duration? {
        timeToLive ?? (source?.delivery == .checked ? max(Self.shortestLifetime, schedule.longestPause * 2) : nil)
    }

    private static let shortestLifetime = Duration.seconds(10)
}
