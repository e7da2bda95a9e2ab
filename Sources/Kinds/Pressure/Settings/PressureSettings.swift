// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `pressure: cpu`, `pressure: { resource: io, warning: 20%, critical: 50%, over: 1min }`: the time that programs lose
/// because they wait for a resource (PSI in the kernel's documentation).
public struct PressureSettings: SourceSettings {
    public static let key = "pressure"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["resource", "warning", "critical", "over"]

    public enum Resource: String, CaseIterable, Sendable {
        case cpu, io, memory

        /// The kernel's file.
        public var file: String { "/proc/pressure/\(rawValue)" }
    }

    /// The periods of the averages that the kernel keeps, in the order of its files.
    public static let periods: [Duration] = [.seconds(10), .seconds(60), .seconds(300)]

    public var resource: Resource
    /// The percentages of the time in which at least one program waited.
    public var stalled = Thresholds(warning: 20, critical: 50)
    /// The period of the average, one of ``periods``.
    public var over = Duration.seconds(60)

    public init(_ resource: Resource) { self.resource = resource }

    public var subjectParts: [String] {
        [resource.rawValue] + stalled.subjectParts + ["\(over.components.seconds)"]
    }
    public var requirements: [SourceRequirement] { [.kernelFile(resource.file, advice: Self.advice)] }

    /// What to do if the kernel has no such file.
    public static let advice = "this kernel does not measure pressure; boot it with psi=1"

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> PressureSettings? {
        guard node.mapping != nil else { return PressureSettings(try resource(node, of: key, reader.nodes)) }
        var settings = PressureSettings(.cpu)
        try reader.readMapping(node, of: key, keys: keys, example: "cpu") {
            key, value, reader throws(Problem) in
            switch key {
            case "resource": settings.resource = try resource(value, of: key, reader.nodes)
            case "over": settings.over = try reader.nodes.duration(value, of: key, among: periods)
            default: try settings.stalled.readPercentage(key, value, reader.nodes)
            }
        }
        try settings.stalled.checkOrder(at: node, reader.nodes)
        return settings
    }

    private static func resource(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> Resource {
        guard let resource = Resource(rawValue: node.string ?? "") else {
            throw nodes.problem(at: node, "“\(key)” must be cpu, io or memory")
        }
        return resource
    }
}
