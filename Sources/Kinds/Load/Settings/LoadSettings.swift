// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `load: true`, `load: { warning: 2, critical: 4, over: 5min }`: the processes that run or wait, for each processor.
public struct LoadSettings: SourceSettings {
    public static let key = "load"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["warning", "critical", "over"]

    /// The periods of the averages that the kernel keeps, in the order of /proc/loadavg (proc(5)).
    public static let periods: [Duration] = [.seconds(60), .seconds(300), .seconds(900)]

    /// The loads of one processor.
    public var load = Thresholds(warning: 2, critical: 4)
    /// The period of the average, one of ``periods``.
    public var over = Duration.seconds(300)

    public init() {}

    public var subjectParts: [String] { load.subjectParts + ["\(over.components.seconds)"] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> LoadSettings? {
        guard node.mapping != nil else {
            return try reader.nodes.isOn(node, of: key, example: "{ warning: 1.5 }") ? LoadSettings() : nil
        }
        var settings = LoadSettings()
        try reader.readMapping(node, of: key, keys: keys) {
            key, value, reader throws(Problem) in
            switch key {
            case "warning": settings.load.warning = try reader.nodes.number(value, of: key, in: 0.1...1000)
            case "critical": settings.load.critical = try reader.nodes.number(value, of: key, in: 0.1...1000)
            default: settings.over = try reader.nodes.duration(value, of: key, among: periods)
            }
        }
        try settings.load.checkOrder(at: node, unit: "", reader.nodes)
        return settings
    }
}
