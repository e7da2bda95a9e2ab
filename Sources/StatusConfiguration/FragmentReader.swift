// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusSupport
import YAML

struct Fragment: Sendable {
    /// Whether the file has no settings: it is empty or has only comments.
    var isEmpty = false
    var select: (server: ServerName?, origin: Origin)?
    var acceptsAny: Bool?
    var defaults = ServerOptions()
    var limits: [(path: any WritableKeyPath<Limits, Int> & Sendable, value: Int)] = []
    var history: (keep: Duration?, changes: Int?) = (nil, nil)
    var mqtt: (settings: MQTTSettings?, origin: Origin)?
    var receivers: [(name: String, receiver: ReceiverConfiguration)] = []
    var servers: [(name: ServerName, draft: ServerDraft)] = []
    var problems: [Problem] = []
    /// The errors that disable the whole file.
    var errors: [Problem] = []

    /// The errors that disable servers of this file.
    var failures: [Problem] { servers.flatMap { $0.draft.errors(of: $0.name) } }

    /// Returns the part that stays in force when the file becomes unusable: everything except its servers.
    ///
    /// The servers fail because of `problem`.
    func disabled(by problem: Problem) -> Fragment {
        var fragment = self
        for index in fragment.servers.indices { fragment.servers[index].draft.fileProblem = problem }
        fragment.problems = []
        return fragment
    }
}

/// Reads the YAML of one file into a fragment; errors contain the line.
struct FragmentReader {
    private let reader: NodeReader
    private var fragment = Fragment()

    private init(file: String) { reader = NodeReader(file: file) }

    /// Reads `text`, the text of `file`.
    ///
    /// - Throws: a ``Problem`` if the text is not a mapping; the fragment contains all other errors.
    static func read(_ text: String, file: String) throws(Problem) -> Fragment {
        var reader = FragmentReader(file: file)
        let root: YAMLNode?
        do throws(YAMLError) { root = try YAMLDocument.read(text) } catch {
            throw Problem(
                .error, at: Origin(file: file, line: error.mark?.line),
                reason: "invalid YAML: \(VisibleText.escape(error.reason))")
        }
        guard let root else {
            reader.fragment.isEmpty = true
            return reader.fragment
        }
        guard let mapping = root.mapping else {
            throw reader.reader.problem(
                at: root, "the file must be a mapping such as “servers: { db: { push: true } }”")
        }
        reader.fragment.isEmpty = mapping.allSatisfy { isShared($0.key) }
        for (key, value) in mapping where !isShared(key) {
            reader.collect { reader throws(Problem) in try reader.read(key, value) }
        }
        return reader.fragment
    }

    /// Whether a key has pieces that aliases share, such as `x-web`, and no settings.
    private static func isShared(_ key: YAMLNode) -> Bool { key.string?.hasPrefix("x-") == true }

    private mutating func read(_ key: YAMLNode, _ value: YAMLNode) throws(Problem) {
        switch key.string {
        case "select": fragment.select = (try readName(value, of: "select"), reader.origin(of: value))
        case "accept": fragment.acceptsAny = try readAccept(value)
        case "defaults": try readDefaults(value)
        case "limits": try readLimits(value)
        case "history": try readHistory(value)
        case "alerts": try readAlerts(value)
        case "mqtt": try readMQTT(value, at: key)
        case "servers": try readServers(value)
        default: try readUnknown(key, value)
        }
    }

    /// Records an error that disables the file, and continues to find all errors.
    private mutating func collect(_ body: (inout FragmentReader) throws(Problem) -> Void) {
        do throws(Problem) { try body(&self) } catch { fragment.errors.append(error) }
    }

    private static let keys = ["select", "accept", "defaults", "limits", "history", "alerts", "mqtt", "servers"]

    /// Reports an unknown key.
    ///
    /// A mistyped section is an error, because otherwise everything in it would be ignored.
    private mutating func readUnknown(_ key: YAMLNode, _ value: YAMLNode) throws(Problem) {
        if value.mapping?.contains(where: { SourceKinds.kind($0.key.string ?? "") != nil }) == true {
            let name = reader.key(key)
            throw reader.problem(at: key, "unknown key “\(name)”; if it is a server, indent it below “servers”")
        }
        let nearest = Nearest.suggestion(for: key.string ?? "", among: Self.keys)
        guard nearest.isEmpty else { throw reader.problem(at: key, "unknown key “\(reader.key(key))”\(nearest)") }
        let isOption = ServerOptions.keys.contains(key.string ?? "")
        let advice = isOption ? "put it below “defaults”, or below a server" : nil
        fragment.problems.append(reader.unknown(key, among: Self.keys, advice: advice))
    }

    private func readName(_ node: YAMLNode, of key: String) throws(Problem) -> ServerName? {
        node.isNull ? nil : try reader.name(node, of: key)
    }

    private func readAccept(_ node: YAMLNode) throws(Problem) -> Bool? {
        if node.isNull { return nil }
        switch node.string {
        case "any": return true
        case "configured": return false
        default: throw reader.problem(at: node, "“accept” must be “any” or “configured”")
        }
    }

    /// Reads each entry of a section; a section may be empty.
    private mutating func readSection(
        _ node: YAMLNode, _ name: String, example: String,
        _ body: (inout FragmentReader, YAMLNode, YAMLNode) throws(Problem) -> Void
    ) throws(Problem) {
        if node.isNull { return }
        guard let mapping = node.mapping else {
            throw reader.problem(at: node, "“\(name)” must be a mapping such as “\(example)”")
        }
        for (key, value) in mapping { collect { reader throws(Problem) in try body(&reader, key, value) } }
    }

    private mutating func readDefaults(_ node: YAMLNode) throws(Problem) {
        try readSection(node, "defaults", example: "{ interval: 30s }") { reader, key, value throws(Problem) in
            if try reader.fragment.defaults.read(key.string, value, with: reader.reader) { return }
            reader.warnOfUnknown(key, among: ServerOptions.keys, within: "defaults")
        }
    }

    private mutating func warnOfUnknown(_ key: YAMLNode, among known: [String], within section: String) {
        fragment.problems.append(reader.unknown(key, among: known, within: section))
    }

    private mutating func readLimits(_ node: YAMLNode) throws(Problem) {
        try readSection(node, "limits", example: "{ checks: 64 }") { reader, key, value throws(Problem) in
            let name = key.string == Self.formerFiles ? "files" : key.string
            guard let limit = Self.limits.first(where: { $0.key == name }) else {
                return reader.warnOfUnknown(key, among: Self.limits.map(\.key), within: "limits")
            }
            let value = try reader.reader.count(value, of: limit.key, in: limit.range)
            reader.fragment.limits.append((limit.path, value))
        }
    }

    private static let longestHistory = Duration.seconds(100 * 366 * 86_400)

    private mutating func readHistory(_ node: YAMLNode) throws(Problem) {
        let example = "{ keep: 90d, changes: 100000 }"
        try readSection(node, "history", example: example) { reader, key, value throws(Problem) in
            switch key.string {
            case "keep":
                let range = Duration.seconds(60)...Self.longestHistory
                reader.fragment.history.keep = try reader.reader.duration(value, of: "keep", in: range)
            case "changes":
                reader.fragment.history.changes = try reader.reader.count(value, of: "changes", in: 0...10_485_760)
            default: reader.warnOfUnknown(key, among: ["keep", "changes"], within: "history")
            }
        }
    }

    private mutating func readAlerts(_ node: YAMLNode) throws(Problem) {
        try readSection(node, "alerts", example: "{ mail: { run: [/usr/lib/statusd/alerts/mail, root] } }") {
            reader, key, value throws(Problem) in
            var receiverReader = ReceiverReader(reader.reader)
            reader.fragment.receivers.append(try receiverReader.read(key, value))
            reader.fragment.problems += receiverReader.problems
        }
    }

    private mutating func readMQTT(_ node: YAMLNode, at key: YAMLNode) throws(Problem) {
        var mqttReader = MQTTReader(reader)
        fragment.mqtt = (try mqttReader.read(node), reader.origin(of: key))
        fragment.problems += mqttReader.problems
    }

    /// The former name of the limit `files`, which is still accepted.
    private static let formerFiles = "looks"

    /// The keys of the limits, with their ranges.
    private static let limits:
        [(key: String, path: any WritableKeyPath<Limits, Int> & Sendable, range: ClosedRange<Int>)] = [
            ("message", \.message, 1024...16 << 20), ("unsent", \.unsent, 4096...1 << 30),
            ("connections", \.connections, 1...65_536), ("servers", \.servers, 0...200_000),
            ("checks", \.checks.checks, 1...4096), ("processes", \.checks.processes, 1...1024),
            ("requests", \.checks.requests, 1...1024), ("files", \.checks.files, 1...1024),
        ]

    private mutating func readServers(_ node: YAMLNode) throws(Problem) {
        if node.isNull { return }
        guard let mapping = node.mapping else {
            throw reader.problem(
                at: node, "“servers” must be a mapping of server names to entries, such as “{ db: { push: true } }”")
        }
        var lines: [ServerName: Int] = [:]
        for (key, value) in mapping {
            if key.string == ServerTemplate.key, ServerTemplate.isTemplate(value) {
                collect { reader throws(Problem) in try reader.readTemplates(value, &lines) }
            } else {
                readServer(key.string, at: key, value, &lines)
            }
        }
    }

    private mutating func readTemplates(_ node: YAMLNode, _ lines: inout [ServerName: Int]) throws(Problem) {
        var template = ServerTemplate(reader)
        let count = fragment.problems.count
        for entry in try template.entries(of: node) { readServer(entry.name, at: entry.item, entry.node, &lines) }
        // A warning of one entry says enough.
        var seen: Set<Problem> = []
        let warnings = fragment.problems[count...].filter { warning in
            var warning = warning
            warning.server = nil
            return seen.insert(warning).inserted
        }
        fragment.problems.replaceSubrange(count..., with: warnings)
    }

    /// - Parameter lines: the lines of the servers in this file.
    private mutating func readServer(
        _ text: String?, at key: YAMLNode, _ value: YAMLNode, _ lines: inout [ServerName: Int]
    ) {
        guard let text, let name = ServerName(text) else {
            let advice = text?.contains(":") == true ? NodeReader.spaceAdvice : ""
            // What follows a colon may be a secret.
            let shown = text == key.string ? reader.key(key) : VisibleText.escape(text ?? "")
            let reason = "invalid server name “\(shown)”: \(ServerName.rule)\(advice)"
            return fragment.errors.append(reader.problem(at: key, reason))
        }
        if let line = lines.updateValue(key.mark.line, forKey: name) {
            return fragment.errors.append(
                reader.problem(at: key, "duplicate server “\(name)”, already in line \(line)"))
        }
        var serverReader = ServerReader(reader, name: name)
        fragment.servers.append((name, serverReader.read(value, key: key)))
        fragment.problems += serverReader.problems
    }
}
