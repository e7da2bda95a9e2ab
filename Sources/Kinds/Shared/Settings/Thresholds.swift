// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import YAML

/// The values from which on a level is warning and critical; larger values are worse.
public struct Thresholds: Equatable, Sendable {
    public var warning: Double
    public var critical: Double

    public init(warning: Double, critical: Double) { (self.warning, self.critical) = (warning, critical) }

    /// The thresholds as parts of a subject.
    var subjectParts: [String] { ["\(warning)", "\(critical)"] }

    public func level(of value: Double) -> Level {
        value >= critical ? .critical : value >= warning ? .warning : .ok
    }

    /// Reads a percentage for “warning” or “critical”.
    mutating func readPercentage(_ key: String, _ node: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        let value = try nodes.percentage(node, of: key, in: 1...100)
        if key == "critical" { critical = value } else { warning = value }
    }

    /// Refuses a warning that could never be seen, such as a new one above the default of “critical”.
    ///
    /// - Parameter unit: the unit of the values, for the message.
    func checkOrder(at node: YAMLNode, unit: String = "%", _ nodes: NodeReader) throws(Problem) {
        guard warning > critical else { return }
        let (warning, critical) = (MeasuredValue.text(warning, unit), MeasuredValue.text(critical, unit))
        throw nodes.problem(at: node, "“warning” (\(warning)) must not be above “critical” (\(critical)); set both")
    }
}
