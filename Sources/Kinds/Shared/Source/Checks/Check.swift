// SPDX-License-Identifier: Apache-2.0

public import StatusModel

public protocol Check: Sendable {
    /// The resource for which the check needs a slot (``CheckBudget``).
    var resource: CheckBudget.Resource { get }

    /// The changes after which the check runs before its time; nil if only the schedule matters.
    ///
    /// The property is read once, before the first run.
    var changes: AsyncStream<Void>? { get }

    /// The plugin and its arguments; nil for a check without a plugin.
    var command: [String]? { get }

    /// Runs the check within its timeout; returns soon after its task is cancelled.
    ///
    /// A server in a bad state is also a result.
    ///
    /// - Throws: ``CheckFailure`` if the status cannot be determined; `CancellationError`.
    func run() async throws -> CheckResult
}

extension Check {
    public var changes: AsyncStream<Void>? { nil }
    public var command: [String]? { nil }
}

public struct CheckResult: Sendable, Equatable {
    public var level: Level
    /// The text; the latency, if any, is appended to it.
    public var text: String
    /// The latency, if it was measured; it is shown coarsely (``Latency``).
    public var latency: Duration?
    /// What the plugin wrote; nil for a check without a plugin.
    public var output: PluginOutput?

    public init(_ level: Level, _ text: String, latency: Duration? = nil, output: PluginOutput? = nil) {
        self.level = level
        self.text = text
        self.latency = latency
        self.output = output
    }
}

/// The reason why a check could not determine the status of a server, as a short phrase.
public struct CheckFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String
    /// What a plugin wrote that ran, but told nothing.
    public var output: PluginOutput?

    public init(_ reason: String, output: PluginOutput? = nil) { (description, self.output) = (reason, output) }
}

/// Formats latencies so that the text changes only if the latency changes much.
///
/// Otherwise every check would change the status. The shown value stays until it is off by a factor of two, and all
/// values below ten milliseconds are shown alike.
struct Latency {
    private var shown: Duration?

    /// The smallest value, shown as “under 20 ms”, which is true until the text changes.
    private static let floor = Duration.milliseconds(10)

    /// Returns the text for a measurement: `under 20 ms`, `12 ms`, `1.5 s`.
    mutating func text(for measured: Duration) -> String {
        let measured = max(measured, Self.floor)
        if let shown, measured < shown * 2, shown < measured * 2 { return Self.text(shown) }
        shown = measured
        return Self.text(measured)
    }

    private static func text(_ duration: Duration) -> String {
        if duration <= floor { return "under 20 ms" }
        let milliseconds = Int(duration / .milliseconds(1))
        switch milliseconds {
        case ..<100: return "\(milliseconds) ms"
        case ..<1000: return "\((milliseconds + 5) / 10 * 10) ms"
        default: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        }
    }
}
