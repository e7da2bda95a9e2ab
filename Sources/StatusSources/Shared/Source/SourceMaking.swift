// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds
public import StatusModel

/// Settings of which a source can be made: those of every kind.
@EventLoop
public protocol SourceMaking: SourceSettings {
    /// Makes and starts the source; nil if nothing has to run.
    ///
    /// - Throws: ``SourceProblem`` if it cannot be started now; then the predecessor is closed.
    func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)?

    /// Whether the new source takes over from an open predecessor, and closes that itself.
    ///
    /// All others begin when their predecessor has been closed.
    static func takesOver(_ predecessor: any Source) -> Bool
}

extension SourceMaking {
    public static func takesOver(_ predecessor: any Source) -> Bool { false }
}

/// Settings of which a check can be made.
@EventLoop
public protocol CheckMaking: SourceMaking {
    /// Makes the check.
    func makeCheck(_ order: SourceOrder) -> any Check
}

extension CheckMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        let environment = order.environment
        let source = CheckSource(
            server: order.server, check: makeCheck(order), schedule: order.schedule,
            predecessor: order.predecessor as? CheckSource, shown: order.shown, budget: environment.budget,
            monitor: environment.monitor)
        environment.run(source)
        return source
    }
}

/// What a source is made for, and with.
public struct SourceOrder {
    /// The server.
    public let server: ServerName
    /// When it is checked, and when its states count.
    public let schedule: CheckSchedule
    /// How long a unit may run that runs to its end; nil: as long as it likes.
    public let runtime: Duration?
    /// The source whose place it takes, which has been closed, unless the new one takes over.
    public let predecessor: (any Source)?
    /// The level that is shown, if it came from the same subject.
    public let shown: Level?
    /// What all sources share.
    public let environment: SourceEnvironment

    /// An order with what belongs to it.
    public init(
        server: ServerName, schedule: CheckSchedule, runtime: Duration?, predecessor: (any Source)?, shown: Level?,
        environment: SourceEnvironment
    ) {
        self.server = server
        self.schedule = schedule
        self.runtime = runtime
        self.predecessor = predecessor
        self.shown = shown
        self.environment = environment
    }
}

/// Why a source cannot be started.
public struct SourceProblem: Error, CustomStringConvertible {
    /// The reason, one phrase.
    public let description: String

    /// A problem with its reason.
    public init(_ description: String) { self.description = description }
}
