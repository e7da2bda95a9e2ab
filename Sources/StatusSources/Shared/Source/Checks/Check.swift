// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// Finds out the status of a server.
public protocol Check: Sendable {
    /// The resource for which it needs a slot (``CheckBudget``).
    var resource: CheckBudget.Resource { get }

    /// Reports changes after which the check should run before its time; nil if only the schedule counts.
    ///
    /// It is read once, before the first run.
    var changes: AsyncStream<Void>? { get }

    /// Runs the check within its own timeout; ends soon after its task is cancelled.
    ///
    /// A server in a bad state is a result, too.
    ///
    /// - Throws: ``CheckFailure`` if the status cannot be determined; `CancellationError`.
    func run() async throws -> CheckResult
}

extension Check {
    public var changes: AsyncStream<Void>? { nil }
}

/// The result of a check.
public struct CheckResult: Sendable, Equatable {
    /// The level.
    public var level: Level
    /// The text, to which the latency is appended, if there is one.
    public var text: String
    /// The latency, if it was measured.
    ///
    /// It is shown coarsely, and stays until it is off by a factor of two (``Latency``). So a check that judges it must
    /// put the limit in its text: `slower than 100 ms`.
    public var latency: Duration?

    /// Creates a result.
    public init(_ level: Level, _ text: String, latency: Duration? = nil) {
        self.level = level
        self.text = text
        self.latency = latency
    }
}

/// Why a check could not find out the status of a server, as one short phrase.
public struct CheckFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String

    /// Creates a failure.
    public init(_ reason: String) { description = reason }
}
