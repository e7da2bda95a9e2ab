// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import StatusSupport
public import YAML

/// `group: [web, db, "cache*"]`, or `group: { of: [web1, web2], critical: all }`: a status that follows from other
/// servers.
public struct GroupSettings: SourceSettings {
    public static let key = "group"
    public static let delivery = SourceDelivery.derived
    public static let keys = ["of", "critical"]

    public var rule: GroupRule

    public init(_ rule: GroupRule) { self.rule = rule }

    /// Nothing: a group stays the same whatever its members, because its status follows from theirs at once.
    public var subjectParts: [String] { [] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> GroupSettings? {
        var rule = GroupRule()
        guard node.mapping != nil else {
            try readMembers(node, of: key, into: &rule, &reader)
            return GroupSettings(rule)
        }
        var quorum: YAMLNode?
        try reader.readMapping(node, of: key, keys: keys, example: "[web, db]") {
            name, value, reader throws(Problem) in
            if name == "of" { return try readMembers(value, of: name, into: &rule, &reader) }
            quorum = value
            if value.string == "all" { return rule.quorum = .all }
            guard let count = value.string.flatMap({ Int($0) }), 1...1000 ~= count else {
                throw reader.nodes.problem(at: value, "“critical” must be all, or a number of members from 1 to 1000")
            }
            rule.quorum = .count(count)
        }
        if case .count(let count)? = rule.quorum, let quorum, rule.patterns.isEmpty, count > rule.names.count {
            throw reader.nodes.problem(
                at: quorum, "“critical: \(count)” is more than all members (\(rule.names.count)); write all, or less")
        }
        return GroupSettings(rule)
    }

    private static func readMembers(
        _ node: YAMLNode, of key: String, into rule: inout GroupRule, _ reader: inout SettingsReader
    ) throws(Problem) {
        let nodes = reader.nodes
        guard let list = node.sequence, !list.isEmpty else {
            throw nodes.problem(at: node, "“\(key)” must be a list of servers, such as [web, \"db*\"]")
        }
        let members = try reader.readEach(of: list) { part throws(Problem) in
            let text = try nodes.string(part, of: key, "a list of servers, such as [web, \"db*\"]")
            guard ServerName(text) != nil || isPattern(text) else {
                throw nodes.problem(
                    at: part,
                    "invalid member “\(nodes.key(part))”: must be the name of a server, or a pattern such as \"db*\"")
            }
            return text
        }
        for member in members {
            if let name = ServerName(member) {
                if !rule.names.contains(name) { rule.names.append(name) }
            } else if !rule.patterns.contains(member) {
                rule.patterns.append(member)
            }
        }
    }

    /// Whether a text can match names: it has a wildcard, and nothing that is in no name.
    private static func isPattern(_ text: String) -> Bool {
        let others = Set("._:@-*?[]!^".utf8)
        return text.utf8.count <= 256 && text.utf8.contains(where: Set("*?[".utf8).contains)
            && text.utf8.allSatisfy { byte in
                others.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
            }
    }
}
