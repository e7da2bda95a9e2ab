// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `push: true`: whoever may post, posts.
public struct PushSettings: SourceSettings {
    public static let key = "push"
    public static let delivery = SourceDelivery.posted

    /// The only settings that there are.
    public init() {}

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> PushSettings? {
        try reader.nodes.flag(node, of: key) ? PushSettings() : nil
    }
}
