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
    ///
    /// It stays while the values are near those of the shown text.
    public var text: String
    /// The latency, if it was measured.
    public var latency: Latency?
    public var values: [MeasuredValue]
    /// Whether the text is shown although its numbers are near, because it changes seldom.
    public var isAlwaysShown = false
    /// What the plugin wrote; nil for a check without a plugin.
    public var output: PluginOutput?

    public init(
        _ level: Level, _ text: String, latency: Latency? = nil, values: [MeasuredValue] = [],
        output: PluginOutput? = nil
    ) {
        self.level = latency?.isSlow == true && level == .ok ? .warning : level
        self.text = text
        self.latency = latency
        self.values = values + (latency.map { [$0.value] } ?? [])
        self.output = output
    }

    /// The text with the latency.
    var fullText: String { latency.map { "\(text) in \($0)" } ?? text }

    /// Whether people need not be told of this result after an earlier one.
    ///
    /// Otherwise numbers that always change would change the status with every check. A plugin chooses its own words.
    func isNear(_ other: CheckResult) -> Bool {
        guard output == nil, !isAlwaysShown, !values.isEmpty, level == other.level, values.count == other.values.count
        else {
            return false
        }
        return zip(values, other.values).allSatisfy { $0.isNear($1) } && words == other.words
    }

    /// The text without its numbers.
    private var words: [UInt8] { text.utf8.filter { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: ".") } }
}

/// The reason why a check could not determine the status of a server, as a short phrase.
public struct CheckFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String
    /// What a plugin wrote that ran, but told nothing.
    public var output: PluginOutput?

    public init(_ reason: String, output: PluginOutput? = nil) { (description, self.output) = (reason, output) }
}

/// The time that a server took, and whether that is too long: `12 ms`, `740 ms (slow)`.
public struct Latency: Sendable, Equatable, CustomStringConvertible {
    public let duration: Duration
    /// The time from which on the server is slow; nil for none.
    public let limit: Duration?

    public init(_ duration: Duration, slow limit: Duration? = nil) { (self.duration, self.limit) = (duration, limit) }

    public var isSlow: Bool { limit.map { duration > $0 } ?? false }

    public var value: MeasuredValue {
        MeasuredValue("time", duration / .seconds(1), "s", warning: limit.map { $0 / .seconds(1) })
    }

    public var description: String { MeasuredValue.text(duration / .seconds(1), "s") + (isSlow ? " (slow)" : "") }
}
