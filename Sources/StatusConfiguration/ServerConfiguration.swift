// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

/// One server's configuration.
public struct ServerConfiguration: Equatable, Sendable {
    /// Its description, for people.
    public var description: String?
    /// Its source; nil if no valid one is configured.
    public var source: AnySourceSettings?
    /// The text until it has a status; nil for the default text.
    public var placeholder: String?
    /// The time to live of a status; nil: see ``lifetime``.
    public var timeToLive: Duration?
    /// When checks run, and how many results in a row count.
    public var schedule: CheckSchedule
    /// The longest run of a unit that runs to its end; nil for no limit.
    public var runtime: Duration?
    /// Why it cannot be followed; nil if it can.
    public var failure: String?
    /// The place of its entry.
    public var origin: Origin

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

    /// Whether its status is loaded, so that a load can be requested.
    public var isRefreshable: Bool { source.map { $0.delivery != .posted } ?? false }

    /// The time to live that holds; nil for no limit.
    ///
    /// The default for a check is twice the longest time between two checks.
    /// Without a default, a check that gets no check slot would show its last status for ever.
    public var lifetime: Duration? {
        timeToLive ?? (source?.delivery == .checked ? max(Self.shortestLifetime, schedule.longestPause * 2) : nil)
    }

    private static let shortestLifetime = Duration.seconds(10)
}
