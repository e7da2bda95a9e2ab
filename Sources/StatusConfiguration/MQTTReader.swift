// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import YAML

/// Reads the section `mqtt`.
struct MQTTReader {
    static let keys = ["broker", "host", "publish", "follow", "user", "discovery"]
    private static let maximumBrokers = 16
    private static let maximumPatterns = 256
    private static let example = "{ broker: mqtts://mq1.example, follow: [web2] }"

    let reader: NodeReader
    private(set) var problems: [Problem] = []

    init(_ reader: NodeReader) { self.reader = reader }

    /// - Returns: the settings; nil if the section is empty.
    mutating func read(_ node: YAMLNode) throws(Problem) -> MQTTSettings? {
        if node.isNull { return nil }
        guard let mapping = node.mapping else {
            throw reader.problem(at: node, "“mqtt” must be a mapping such as “\(Self.example)”")
        }
        var settings = MQTTSettings(brokers: [])
        for (key, value) in mapping { try read(key, value, into: &settings) }
        guard !settings.brokers.isEmpty else {
            throw reader.problem(
                at: node, "“mqtt” needs “broker”, the URL of a broker such as mqtts://mq1.example:8883")
        }
        if settings.publish.isEmpty, settings.follow.isEmpty {
            problems.append(
                Problem(
                    .warning, at: reader.origin(of: node),
                    reason: "“mqtt” publishes nothing and follows nothing; add “follow”, or remove “publish: false”"))
        }
        if let own = settings.hostName, settings.follow.contains(where: { $0.host == own.rawValue }) {
            problems.append(
                Problem(
                    .warning, at: reader.origin(of: node),
                    reason: "“follow” names this host, \(own), whose servers are never followed; remove it there"))
        }
        return settings
    }

    private mutating func read(
        _ key: YAMLNode, _ value: YAMLNode, into settings: inout MQTTSettings
    ) throws(Problem) {
        switch key.string {
        case "broker": settings.brokers = try readBrokers(value)
        case "host": settings.host = try readHost(value)
        case "publish": settings.publish = try readPublished(value)
        case "follow": settings.follow = try readFollowed(value)
        case "user": settings.user = try readUser(value)
        case "discovery": settings.discovery = try readDiscovery(value)
        default: throw reader.unknown(key, among: Self.keys, within: "mqtt")
        }
    }

    private func readBrokers(_ node: YAMLNode) throws(Problem) -> [MQTTBroker] {
        var brokers: [MQTTBroker] = []
        for item in node.sequence ?? [node] {
            let text = try reader.string(item, of: "broker", "the URL of a broker, or a list of URLs")
            do throws(MQTTBroker.Invalid) {
                let broker = try MQTTBroker(reading: text)
                if !brokers.contains(broker) { brokers.append(broker) }
            } catch { throw reader.problem(at: item, "“broker” \(error.reason)") }
        }
        guard (1...Self.maximumBrokers).contains(brokers.count) else {
            throw reader.problem(at: node, "“broker” must have 1 to \(Self.maximumBrokers) URLs")
        }
        return brokers
    }

    private func readHost(_ node: YAMLNode) throws(Problem) -> String? {
        if node.isNull { return nil }
        guard let name = node.string, MQTTSettings.isHost(name) else {
            throw reader.problem(
                at: node, "invalid host name “\(VisibleText.escape(node.string ?? ""))”: it \(MQTTSettings.hostRule)")
        }
        return name
    }

    private func readPublished(_ node: YAMLNode) throws(Problem) -> [String] {
        if node.string == "all" { return ["*"] }
        let what = "all, false, or a list of names and patterns such as [web, \"db*\"]"
        return try readList(node, of: "publish", what) { MQTTSettings.isPattern($0) ? $0 : nil }
    }

    private func readFollowed(_ node: YAMLNode) throws(Problem) -> [FollowPattern] {
        let what = "false, or a list of hosts and of servers such as [web2, \"db*@web*\"]"
        return try readList(node, of: "follow", what, FollowPattern.init)
    }

    private func readList<Item>(
        _ node: YAMLNode, of key: String, _ what: String, _ make: (String) -> Item?
    ) throws(Problem) -> [Item] {
        if node.bool == false { return [] }
        let texts = try reader.strings(node, of: key, what)
        guard !texts.isEmpty else { throw reader.problem(at: node, "“\(key)” must not be empty; write false for none") }
        guard texts.count <= Self.maximumPatterns else {
            throw reader.problem(at: node, "“\(key)” has more than \(Self.maximumPatterns) patterns")
        }
        var items: [Item] = []
        for text in texts {
            guard let item = make(text) else {
                throw reader.problem(
                    at: node, "invalid pattern “\(VisibleText.escape(text))” in “\(key)”: no name matches")
            }
            items.append(item)
        }
        return items
    }

    private func readUser(_ node: YAMLNode) throws(Problem) -> String? {
        if node.isNull { return nil }
        let user = try reader.string(node, of: "user")
        guard user.utf8.count <= 1024, user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw reader.problem(at: node, "“user” must have at most 1024 bytes, and no control characters")
        }
        return user
    }

    private func readDiscovery(_ node: YAMLNode) throws(Problem) -> MQTTSettings.Discovery? {
        if node.isNull || node.bool == false { return nil }
        guard let discovery = node.string.flatMap(MQTTSettings.Discovery.init(rawValue:)) else {
            throw reader.problem(at: node, "“discovery” must be homeassistant or false")
        }
        return discovery
    }
}
