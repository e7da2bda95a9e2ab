// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Yams

/// What one file says.
struct ConfigurationFragment {
    var select: (server: ServerName?, origin: Origin)?
    var acceptsAny: Bool?
    var placeholder: String?
    var limits: [WritableKeyPath<LimitsConfiguration, Int>: Int] = [:]
    var servers: [(name: ServerName, draft: ServerDraft)] = []
    var warnings: [Problem] = []
}

/// A server as one file describes it; what it leaves open comes from the defaults of all files.
struct ServerDraft {
    var summary: String?
    var source = SourceConfiguration.none
    var placeholder: String?
    var failure: String?
    var origin: Origin
}

/// Reads one file: YAML into a fragment, where every mistake has its line.
struct ConfigurationReader {
    private let file: String
    private var fragment = ConfigurationFragment()

    private init(file: String) { self.file = file }

    /// Reads `text`, the text of `file`.
    ///
    /// - Throws: a ``Problem`` that disables the whole file. A mistake in one server disables only that one.
    static func read(_ text: String, file: String) throws(Problem) -> ConfigurationFragment {
        var reader = ConfigurationReader(file: file)
        guard let root = try YAMLText.compose(text, file: file) else { return reader.fragment }
        try reader.readRoot(root)
        return reader.fragment
    }

    private mutating func readRoot(_ root: Node) throws(Problem) {
        guard let mapping = root.mapping else {
            throw problem(at: root, "must be a mapping such as “servers: { db: { push: true } }”")
        }
        for (key, value) in mapping {
            switch key.string {
            case "select": fragment.select = (try readName(value, of: "select"), origin(of: value))
            case "accept": fragment.acceptsAny = try readAccept(value)
            case "defaults": try readDefaults(value)
            case "limits": try readLimits(value)
            case "servers": try readServers(value)
            default: warnUnknown(key, among: ["select", "accept", "defaults", "limits", "servers"])
            }
        }
    }

    private func readName(_ node: Node, of key: String) throws(Problem) -> ServerName? {
        if node.isNull { return nil }
        guard let text = node.scalar?.string, let name = ServerName(text) else {
            throw problem(at: node, "“\(key)” must be a server's name: \(ServerName.rule)")
        }
        return name
    }

    private func readAccept(_ node: Node) throws(Problem) -> Bool {
        switch node.scalar?.string {
        case "any": return true
        case "configured": return false
        default: throw problem(at: node, "“accept” must be “any” or “configured”")
        }
    }

    private mutating func readDefaults(_ node: Node) throws(Problem) {
        guard let mapping = node.mapping else { throw problem(at: node, "“defaults” must be a mapping") }
        for (key, value) in mapping {
            switch key.string {
            case "placeholder": fragment.placeholder = try readText(value, of: "placeholder")
            default: warnUnknown(key, among: ["placeholder"], within: "defaults")
            }
        }
    }

    private mutating func readLimits(_ node: Node) throws(Problem) {
        guard let mapping = node.mapping else { throw problem(at: node, "“limits” must be a mapping") }
        for (key, value) in mapping {
            switch key.string {
            case "message": fragment.limits[\.message] = try readCount(value, of: "message", in: 1024...16 << 20)
            case "unsent": fragment.limits[\.unsent] = try readCount(value, of: "unsent", in: 65_536...1 << 30)
            case "connections":
                fragment.limits[\.connections] = try readCount(value, of: "connections", in: 1...65_536)
            case "servers": fragment.limits[\.servers] = try readCount(value, of: "servers", in: 0...65_536)
            default: warnUnknown(key, among: ["message", "unsent", "connections", "servers"], within: "limits")
            }
        }
    }

    private func readCount(_ node: Node, of key: String, in range: ClosedRange<Int>) throws(Problem) -> Int {
        guard let text = node.scalar?.string, let count = Count.parse(text), range.contains(count) else {
            throw problem(
                at: node,
                "“\(key)” must be a whole number from \(range.lowerBound) to \(range.upperBound), K and M allowed")
        }
        return count
    }

    private func readText(_ node: Node, of key: String) throws(Problem) -> String {
        guard let scalar = node.scalar, !node.isNull, let text = StatusText(fitting: scalar.string) else {
            throw problem(at: node, "“\(key)” must be a text")
        }
        return text.rawValue
    }

    // MARK: Servers

    private mutating func readServers(_ node: Node) throws(Problem) {
        if node.isNull { return }
        guard let mapping = node.mapping else {
            throw problem(at: node, "“servers” must be a mapping from names to servers")
        }
        for (key, value) in mapping {
            guard let text = key.scalar?.string, let name = ServerName(text) else {
                throw problem(
                    at: key,
                    "“\(VisibleText.escape(key.scalar?.string ?? "?"))” is no server's name: \(ServerName.rule)")
            }
            fragment.servers.append((name, readServer(value, name: name, key: key)))
        }
    }

    private mutating func readServer(_ node: Node, name: ServerName, key: Node) -> ServerDraft {
        var draft = ServerDraft(origin: origin(of: key))
        do throws(Problem) {
            try readServer(node, name: name, into: &draft)
        } catch {
            draft.failure = error.reason
            draft.origin = error.origin
        }
        return draft
    }

    private mutating func readServer(_ node: Node, name: ServerName, into draft: inout ServerDraft) throws(Problem) {
        guard let mapping = node.mapping else {
            throw problem(at: node, "must be a mapping such as “{ push: true }”")
        }
        var sources: [SourceConfiguration] = []
        for (key, value) in mapping {
            switch key.string {
            case "description": draft.summary = try readText(value, of: "description")
            case "placeholder": draft.placeholder = try readText(value, of: "placeholder")
            case "push": if try readSwitch(value, of: "push") { sources.append(.push) }
            case "notify": if let source = try readNotify(value) { sources.append(source) }
            default: warnUnknown(key, among: ["description", "placeholder", "push", "notify"], of: name)
            }
        }
        guard sources.count == 1 else {
            let advice = "“push: true” or “notify: true”"
            throw problem(
                at: node,
                sources.isEmpty ? "has no source; add \(advice)" : "has several sources; keep one of \(advice)")
        }
        draft.source = sources[0]
    }

    private func readSwitch(_ node: Node, of key: String) throws(Problem) -> Bool {
        guard let isOn = node.bool else { throw problem(at: node, "“\(key)” must be true or false") }
        return isOn
    }

    private func readNotify(_ node: Node) throws(Problem) -> SourceConfiguration? {
        guard let mapping = node.mapping else {
            guard let isOn = node.bool else {
                throw problem(at: node, "“notify” must be true, false or a mapping such as “{ users: [postgres] }”")
            }
            return isOn ? .notify(users: []) : nil
        }
        var users: [String] = []
        for (key, value) in mapping {
            guard key.string == "users" else {
                throw problem(at: key, "“notify” knows only “users”, not “\(VisibleText.escape(key.string ?? "?"))”")
            }
            guard let names = value.sequence?.map({ $0.scalar?.string }), !names.contains(nil) else {
                throw problem(at: value, "“users” must be a list of user names or numbers")
            }
            users = names.compactMap(\.self)
        }
        return .notify(users: users)
    }

    // MARK: Problems

    private func origin(of node: Node) -> Origin { Origin(file: file, line: node.mark?.line) }

    private func problem(at node: Node, _ reason: String) -> Problem {
        Problem(.error, at: origin(of: node), reason: reason)
    }

    private mutating func warnUnknown(
        _ key: Node, among known: [String], within section: String? = nil, of server: ServerName? = nil
    ) {
        let place = section.map { " in “\($0)”" } ?? ""
        let word = VisibleText.escape(key.scalar?.string ?? "?")
        fragment.warnings.append(
            Problem(
                .warning, at: origin(of: key), server: server,
                reason: "“\(word)” is unknown\(place) and ignored; known are \(known.joined(separator: ", "))"))
    }
}

extension Node {
    /// Whether it is YAML's null: `~`, `null` or nothing.
    fileprivate var isNull: Bool {
        guard let scalar, scalar.style == .any || scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }
}
