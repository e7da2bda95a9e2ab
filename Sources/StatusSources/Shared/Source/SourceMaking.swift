// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds
public import StatusModel
public import StatusMonitor

/// Settings from which a source is made; those of every kind conform.
@EventLoop
public protocol SourceMaking: SourceSettings {
    /// Makes and starts the source; returns nil if nothing has to run.
    ///
    /// - Throws: ``SourceProblem`` if it cannot be started now; the predecessor is closed then.
    func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)?

    /// Whether the new source takes over an open predecessor, which it closes itself.
    ///
    /// Other sources start after their predecessor was closed.
    static func takesOver(_ predecessor: any Source) -> Bool
}

extension SourceMaking {
    public static func takesOver(_ predecessor: any Source) -> Bool { false }
}

/// Settings from which a check is made; ``CheckSource`` runs it.
@EventLoop
public protocol CheckMaking: SourceMaking {
    /// Makes the check.
    func makeCheck(_ order: SourceOrder) -> any Check
}

extension CheckMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        let source = CheckSource(makeCheck(order), order)
        order.environment.run(source)
        return source
    }
}

/// The parameters of a new source.
public struct SourceOrder {
    /// The server whose status the source posts.
    let server: ServerName
    /// When the server is checked, and when results count.
    let schedule: CheckSchedule
    /// How long a oneshot unit may run; nil if that is not limited.
    let runtime: Duration?
    /// The source that the new one replaces; it was closed, unless the new one takes it over.
    let predecessor: (any Source)?
    /// The level that is shown, if it came from the same subject.
    let shown: Level?
    /// What an earlier run of the daemon has left of this source; nil if there is nothing.
    let restored: RestoredSource?
    /// The resources that all sources share.
    let environment: SourceEnvironment

    /// Creates an order.
    public init(
        server: ServerName, schedule: CheckSchedule, runtime: Duration? = nil, predecessor: (any Source)? = nil,
        shown: Level? = nil, restored: RestoredSource? = nil, environment: SourceEnvironment
    ) {
        self.server = server
        self.schedule = schedule
        self.runtime = runtime
        self.predecessor = predecessor
        self.shown = shown
        self.restored = restored
        self.environment = environment
    }
}

/// What an earlier run of the daemon has left of a source.
public struct RestoredSource: Sendable {
    /// What it knew.
    public var memory: SourceMemory
    /// The time since the last sign of life of its server.
    public var age: Duration
    /// Whether to load now, because people look at its server, or the last load failed.
    public var isUrgent: Bool

    public init(_ memory: SourceMemory, age: Duration, isUrgent: Bool) {
        self.memory = memory
        self.age = age
        self.isUrgent = isUrgent
    }
}

/// Why a source cannot be started, as one phrase.
public struct SourceProblem: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
