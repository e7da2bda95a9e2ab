// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import NotificationStreams
public import SourceKinds
public import StatusModel
public import StatusMonitor

/// Follows one server and posts its statuses.
@EventLoop
public protocol Source: AnyObject {
    /// Checks the server now; nil if the source runs no checks.
    ///
    /// Concurrent callers share one check, also with the source's schedule. A call returns when the check has ended, or
    /// at once if its task is cancelled, for example because the client has disconnected. The check continues while
    /// another caller or the schedule waits for it. Otherwise it is cancelled, except that a call to systemd always
    /// completes. The server is shown as refreshing until the check ends, or until the last caller that requested a
    /// refresh has left.
    var refreshAction: RefreshAction? { get }

    /// Runs a check that begins after the call, not at a client's request; returns when it has ended.
    func recheck() async

    /// The last run of the source's check, or the unit that it follows; nil for other sources.
    var checkRun: CheckRun? { get }

    /// Adds the data that a restart keeps.
    func note(in memory: inout SourceMemory)

    /// Ends the source: it posts nothing more, and releases callers that wait for a check.
    func close()
}

extension Source {
    public var refreshAction: RefreshAction? { nil }

    public func recheck() async {}

    public var checkRun: CheckRun? { nil }

    public func note(in memory: inout SourceMemory) {}
}

/// Settings from which a source is made; the settings of every kind conform.
@EventLoop
public protocol SourceMaking: SourceSettings {
    /// Makes and starts the source; returns nil if nothing needs to run.
    ///
    /// - Throws: ``SourceProblem`` if the source cannot be started now; then the predecessor is closed.
    func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)?

    /// Whether the new source takes over an open predecessor, and closes it if needed.
    ///
    /// Otherwise the predecessor is closed before the new source starts.
    static func takesOver(_ predecessor: any Source) -> Bool
}

extension SourceMaking {
    public static func takesOver(_ predecessor: any Source) -> Bool { false }
}

/// Settings from which a check is made; ``CheckSource`` runs it.
@EventLoop
public protocol CheckMaking: SourceMaking {
    func makeCheck(_ order: SourceOrder) -> any Check
}

extension CheckMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        let source = CheckSource(makeCheck(order), order)
        order.environment.run(source)
        return source
    }
}

public struct SourceOrder {
    let server: ServerName
    let schedule: CheckSchedule
    /// How long a oneshot unit may run; nil for no limit.
    let runtime: Duration?
    /// The members of a group that can be refreshed.
    let refreshedMembers: [ServerName]
    /// The source that the new one replaces; it is closed, unless the new one takes it over.
    let predecessor: (any Source)?
    /// The shown level, if it came from the same subject.
    let shown: Level?
    /// The state of this source in an earlier run of the daemon; nil if there is none.
    let restored: RestoredSource?
    let environment: SourceEnvironment

    public init(
        server: ServerName, schedule: CheckSchedule, runtime: Duration? = nil, refreshedMembers: [ServerName] = [],
        predecessor: (any Source)? = nil, shown: Level? = nil, restored: RestoredSource? = nil,
        environment: SourceEnvironment
    ) {
        self.server = server
        self.schedule = schedule
        self.runtime = runtime
        self.refreshedMembers = refreshedMembers
        self.predecessor = predecessor
        self.shown = shown
        self.restored = restored
        self.environment = environment
    }
}

/// The state of a source in an earlier run of the daemon.
public struct RestoredSource: Sendable {
    public var memory: SourceMemory
    /// The time since the server's last sign of life.
    public var age: Duration
    /// Whether to check now, because people follow the server, or because the last check failed.
    public var isUrgent: Bool

    public init(_ memory: SourceMemory, age: Duration, isUrgent: Bool) {
        self.memory = memory
        self.age = age
        self.isUrgent = isUrgent
    }
}

/// The reason why a source cannot be started, as a phrase.
public struct SourceProblem: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
