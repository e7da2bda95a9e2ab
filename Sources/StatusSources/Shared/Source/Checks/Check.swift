// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// A way to find out how a server is.
public protocol Check: Sendable {
    /// What it needs a place in the ``CheckBudget`` for.
    var resource: CheckBudget.Resource { get }

    /// Says each time that the result may be another than before, so that the check should run before its time; nil if only the schedule counts.
    ///
    /// It is asked for once, before the first run.
    var changes: AsyncStream<Void>? { get }

    /// Finds out how the server is, within its own time limit; ends soon when its task is cancelled.
    ///
    /// That the server is not well is a result.
    ///
    /// - Throws: ``CheckFailure`` where nothing can be said of the server, `CancellationError`.
    func run() async throws -> CheckResult
}

extension Check {
    public var changes: AsyncStream<Void>? { nil }
}

/// How a check found a server.
public struct CheckResult: Sendable, Equatable {
    /// How serious it is.
    public var level: Level
    /// The text that people read; behind it stands how long it took, where that was measured.
    public var text: String
    /// How long it took.
    public var latency: Duration?

    /// A result.
    public init(_ level: Level, _ text: String, latency: Duration? = nil) {
        self.level = level
        self.text = text
        self.latency = latency
    }
}

/// Why a check could not find out how a server is.
public struct CheckFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// One short phrase.
    public var description: String

    /// A failure with its reason.
    public init(_ reason: String) { description = reason }
}
