// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `memory: true`, `memory: { warning: 85%, critical: 95%, swap: 50% }`: how much memory programs can still get.
public struct MemorySettings: SourceSettings {
    public static let key = "memory"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["warning", "critical", "swap"]

    /// The percentages of the memory that is not available.
    public var used = Thresholds(warning: 85, critical: 95)
    /// The percentage of the swap space in use from which on the level is warning; nil if it does not matter.
    public var swap: Double?

    public init() {}

    public var subjectParts: [String] { used.subjectParts + (swap.map { ["swap", "\($0)"] } ?? []) }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> MemorySettings? {
        guard node.mapping != nil else {
            return try reader.nodes.isOn(node, of: key, example: "{ warning: 80% }") ? MemorySettings() : nil
        }
        var settings = MemorySettings()
        try reader.readMapping(node, of: key, keys: keys) {
            key, value, reader throws(Problem) in
            if key == "swap" {
                settings.swap = try reader.nodes.percentage(value, of: key, in: 1...100)
            } else {
                try settings.used.readPercentage(key, value, reader.nodes)
            }
        }
        try settings.used.checkOrder(at: node, reader.nodes)
        return settings
    }
}
