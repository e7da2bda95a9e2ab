// SPDX-License-Identifier: Apache-2.0

/// One server's configuration.
public struct ServerConfiguration: Equatable, Sendable {
    /// What people are told about it.
    public var summary: String?
    /// Where its statuses come from.
    public var source: SourceConfiguration
    /// What is shown until it has a status.
    public var placeholder: String
    /// How long a status holds; nil: see ``lifetime``.
    public var timeToLive: Duration?
    /// When a check runs, and when its result counts.
    public var schedule: ScheduleConfiguration
    /// How long a unit may run that runs to its end; nil: as long as it likes.
    public var runtime: Duration?
    /// Why it cannot be followed; nil where it can.
    public var failure: String?
    /// The file that says so.
    public var origin: Origin

    /// A server's configuration with what belongs to it.
    public init(
        summary: String? = nil, source: SourceConfiguration, placeholder: String, timeToLive: Duration? = nil,
        schedule: ScheduleConfiguration = ScheduleConfiguration(), runtime: Duration? = nil, failure: String? = nil,
        origin: Origin
    ) {
        self.summary = summary
        self.source = source
        self.placeholder = placeholder
        self.timeToLive = timeToLive
        self.schedule = schedule
        self.runtime = runtime
        self.failure = failure
        self.origin = origin
    }

    /// How long a status holds: as long as somebody says, or, where it is checked, twice as long as it may be from one load to the next; nil: for
    /// ever.
    ///
    /// A check that gets no place, because others take all, would else show its last status for ever.
    public var lifetime: Duration? {
        timeToLive ?? (source.isCheck ? max(Self.shortestLifetime, schedule.longestPause * 2) : nil)
    }

    private static let shortestLifetime = Duration.seconds(10)
}

/// Where a server's statuses come from.
public enum SourceConfiguration: Equatable, Sendable {
    /// `push: true`: whoever may post, posts.
    case push
    /// `notify: true`: a datagram socket for any program that speaks sd_notify(3); `notify: { users: […] }` names users who
    /// may send beside root, the daemon's own user and the group statusd.
    case notify(users: [String])
    /// `unit: nginx.service`: a unit of the system's service manager.
    case unit(String)
    /// `exec: [/path, argument]`: a plugin of Nagios'.
    case exec([String])
    /// `tcp: host:port`: whether somebody accepts connections there.
    case tcp(host: String, port: UInt16)
    /// `http: { url: … }`: whether an HTTP server answers as it should.
    case http(HTTPConfiguration)
    /// None that works: the server shows as failed.
    case none

    /// The word that users see, which is the key in the configuration.
    public var word: String {
        switch self {
        case .push: "push"
        case .notify: "notify"
        case .unit: "unit"
        case .exec: "exec"
        case .tcp: "tcp"
        case .http: "http"
        case .none: "none"
        }
    }

    /// What it tells of, whoever may report it: a status of another subject says nothing of this one.
    public var subject: SourceConfiguration {
        if case .notify = self { .notify(users: []) } else { self }
    }

    /// Whether it is loaded again and again, as the schedule says.
    public var isCheck: Bool {
        switch self {
        case .exec, .tcp, .http: true
        case .push, .notify, .unit, .none: false
        }
    }

    /// Whether its statuses are loaded, so that a load can be asked for.
    public var isRefreshable: Bool {
        if case .unit = self { true } else { isCheck }
    }
}

/// When a check runs, and when its result, or a unit's state, counts.
public struct ScheduleConfiguration: Equatable, Sendable {
    /// The time from the end of one load to the beginning of the next, give or take a tenth; for a unit, how long a state counts once.
    public var interval = Duration.seconds(30)
    /// How long a load may take.
    public var timeout = Duration.seconds(10)
    /// How many loads in a row have to find it worse than it is shown before that is shown.
    public var failures = 1
    /// How many loads in a row have to find it better than it is shown before that is shown.
    public var successes = 1

    /// The schedule that holds where no file says otherwise.
    public init() {}

    /// How long it may be from the end of one load to the end of the next.
    var longestPause: Duration { interval * 1.1 + timeout }
}

/// What is asked of an HTTP server, and what it should answer.
public struct HTTPConfiguration: Equatable, Sendable {
    /// Where; http or https.
    public var url: String
    /// The request's method.
    public var method = "GET"
    /// The request's own header fields, as `Name: value`.
    public var headers: [String] = []
    /// The status codes that are right.
    public var statusCodes = [200...299]
    /// What has to stand in the first MiB of the body; nil where anything may.
    public var contains: String?
    /// A file with the certificates to trust; nil for the system's.
    public var certificateAuthority: String?
    /// How many redirects are followed.
    public var redirects = 5

    /// A GET of `url` that is to be answered with success.
    public init(url: String) { self.url = url }
}
