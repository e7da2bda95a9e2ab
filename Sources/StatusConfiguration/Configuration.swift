// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import StatusAlerts
public import StatusModel

/// The configuration, merged from all files.
public struct Configuration: Equatable, Sendable {
    /// The server to select when the daemon starts, and when a reload changes this value.
    public var select: ServerName?
    /// The file and line of `select:`.
    public var selectOrigin: Origin?
    /// Whether a post may add an unconfigured server.
    public var acceptsAny = false
    public var servers: [ServerName: ServerConfiguration] = [:]
    /// The limits of clients and checks.
    public var limits = Limits()
    public var history = HistoryLimits()
    /// Who is told about problems, by name.
    public var receivers: [String: ReceiverConfiguration] = [:]
    /// What statusd-mqtt publishes and follows; nil if it does nothing.
    public var mqtt: MQTTSettings?
    /// When the level of a server of another host is told: as `defaults` say.
    public var followedAlert = AlertRule()

    /// The new names of servers that were renamed, by their former names.
    ///
    /// A former name that is configured is a server of its own. If several servers had the same, the first of them has
    /// its history.
    public var renamedServers: [ServerName: ServerName] {
        let renamed = servers.compactMap { name, server in server.formerName.map { ($0, name) } }
        return Dictionary(renamed.filter { servers[$0.0] == nil }, uniquingKeysWith: min)
    }

    /// Creates a configuration without servers that accepts posts only for configured ones.
    public init() {}

    /// The configuration if there are no files: it accepts posts for every server.
    public static var embedded: Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = true
        return configuration
    }
}

public struct ServerConfiguration: Equatable, Sendable {
    public var description: String?
    /// The name before the server was renamed, whose history it continues (`was`); nil for none.
    public var formerName: ServerName?
    /// The source; nil if no valid source is configured.
    public var source: AnySourceSettings?
    /// The text that is shown before the first status; nil for the default text.
    public var placeholder: String?
    /// The value of `ttl`; nil if it is not set (``lifetime``).
    public var timeToLive: Duration?
    public var schedule: CheckSchedule
    /// When its level is told (`alert`, `parent`).
    public var alert = AlertRule()
    /// How long a oneshot unit may run (`runtime`); nil for no limit.
    public var runtime: Duration?
    /// The members of a group that clients can refresh, sorted.
    public var refreshedMembers: [ServerName] = []
    /// The reason why the server cannot be followed; nil if it can.
    public var failure: String?
    /// The file and line of the entry.
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

    /// Whether clients can request a refresh, because the source runs checks, or because those of its members do.
    public var isRefreshable: Bool { runsChecks || !refreshedMembers.isEmpty }

    /// Whether the source checks, in each interval or on request.
    public var runsChecks: Bool { source.map { $0.delivery == .checked || $0.delivery == .followed } ?? false }

    /// Whether clients may post its status.
    public var takesPosts: Bool { source?.delivery == .posted }

    /// How long a status stays fresh: `ttl`, or for checks twice the maximum pause between checks; nil for no limit.
    ///
    /// The default exists because a check that gets no slot would otherwise keep its last status indefinitely.
    public var lifetime: Duration? {
        timeToLive ?? (source?.delivery == .checked ? max(Self.shortestLifetime, schedule.longestPause * 2) : nil)
    }

    private static let shortestLifetime = Duration.seconds(10)
}
