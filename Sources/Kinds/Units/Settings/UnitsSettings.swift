// SPDX-License-Identifier: Apache-2.0

import StatusSupport
public import YAML

/// `units: failed`, `units: php*.service`: all units of the system's service manager that match patterns.
public struct UnitsSettings: SourceSettings {
    public static let key = "units"
    public static let delivery = SourceDelivery.followed
    public static let keys = ["match", "state"]

    /// What is expected of each unit.
    public enum State: String, CaseIterable, Sendable {
        /// It is as `unit` expects it to be.
        case active
        /// It has not failed.
        case failed
    }

    /// Patterns as in fnmatch(3), or full names of units, which must exist if they must be active.
    public var patterns: [String]
    public var state: State

    public init(patterns: [String] = ["*"], state: State = .active) { (self.patterns, self.state) = (patterns, state) }

    public var subjectParts: [String] { [state.rawValue] + patterns }
    /// The units that are followed even if systemd does not have them in memory.
    public var names: [String] { state == .active ? patterns.filter { !UnitName.isPattern($0) } : [] }
    public var requirements: [SourceRequirement] { names.map { .unit($0) } }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> UnitsSettings? {
        if node.string == State.failed.rawValue { return UnitsSettings(state: .failed) }
        guard node.mapping != nil else { return UnitsSettings(patterns: try patterns(node, of: key, &reader)) }
        var settings = UnitsSettings()
        try reader.readMapping(node, of: key, keys: keys, example: "“php*.service”") {
            name, value, reader throws(Problem) in
            if name == "match" {
                settings.patterns = try patterns(value, of: name, &reader)
            } else if let state = State(rawValue: value.string ?? "") {
                settings.state = state
            } else {
                throw reader.nodes.problem(at: value, "“state” must be active or failed")
            }
        }
        return settings
    }

    /// Reads one pattern or a list of them.
    private static func patterns(
        _ node: YAMLNode, of key: String, _ reader: inout SettingsReader
    ) throws(Problem) -> [String] {
        let nodes = reader.nodes
        let what = (key == Self.key ? "failed, " : "") + "a pattern such as “php*.service”, or a list of patterns"
        guard let list = node.sequence else { return [try pattern(node, nodes.string(node, of: key, what), nodes)] }
        if list.isEmpty { throw nodes.problem(at: node, "“\(key)” must be \(what)") }
        return try reader.readEach(of: list) { part throws(Problem) in
            if part.string == State.failed.rawValue {
                throw nodes.problem(
                    at: part, "“failed” cannot be in a list; write “units: failed” for another server")
            }
            return try pattern(part, nodes.string(part, of: key, what), nodes)
        }
    }

    private static func pattern(_ node: YAMLNode, _ text: String, _ nodes: NodeReader) throws(Problem) -> String {
        guard !node.isTrueOrFalse, let pattern = UnitName.normalizePattern(text) else {
            throw nodes.problem(
                at: node, "invalid pattern “\(nodes.key(node))”: must be one such as “php*.service” or nginx.service")
        }
        return pattern
    }
}
