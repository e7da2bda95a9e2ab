// SPDX-License-Identifier: Apache-2.0

import StatusSupport
public import YAML

/// `unit: nginx.service`: a unit of the system's service manager.
public struct UnitSettings: SourceSettings {
    public static let key = "unit"
    public static let delivery = SourceDelivery.followed

    /// The unit's full name.
    public var unit: String

    public init(unit: String) { self.unit = unit }

    public var subjectParts: [String] { [unit] }

    public var requirements: [SourceRequirement] { [.unit(unit)] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> UnitSettings? {
        let nodes = reader.nodes
        let text = try nodes.string(node, of: key, "a unit's name, such as nginx.service")
        guard let unit = UnitName.normalize(text) else {
            throw nodes.problem(
                at: node,
                "invalid unit name “\(nodes.key(node))”: must be one such as nginx.service or backup@home.service"
            )
        }
        return UnitSettings(unit: unit)
    }
}
