// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `push: true`: clients with permission post statuses; nothing runs.
public struct PushSettings: SourceSettings {
    public static let key = "push"
    public static let delivery = SourceDelivery.posted

    public init() {}

    public var subjectParts: [String] { [] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> PushSettings? {
        try reader.nodes.flag(node, of: key) ? PushSettings() : nil
    }
}
