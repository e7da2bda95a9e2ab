// SPDX-License-Identifier: Apache-2.0

import YAML

/// `json: { path: .State.Health.Status, equals: healthy }`: a value that a response must have as JSON.
public struct JSONExpectation: Equatable, Sendable {
    public var path: JSONPath
    /// The expected value; nil for any but null and false.
    public var equals: JSONScalar?

    public init(path: JSONPath, equals: JSONScalar? = nil) { (self.path, self.equals) = (path, equals) }

    static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> JSONExpectation {
        let nodes = reader.nodes
        guard node.mapping != nil else { return JSONExpectation(path: try path(node, of: "json", nodes)) }
        var (path, equals): (JSONPath?, JSONScalar?)
        try reader.readMapping(node, of: "json", keys: ["path", "equals"], example: ".State.Health.Status") {
            key, value, _ throws(Problem) in
            if key == "path" { path = try Self.path(value, of: key, nodes) } else { equals = try scalar(value, nodes) }
        }
        guard let path else { throw nodes.problem(at: node, "“json” requires “path”") }
        return JSONExpectation(path: path, equals: equals)
    }

    private static func path(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> JSONPath {
        guard let path = JSONPath(node.string ?? "") else {
            throw nodes.problem(
                at: node,
                "“\(key)” must be a path of at most \(JSONPath.maximumSteps) steps, such as .State.Health.Status, "
                    + "'.items[0].name' or '.\"a name\"'")
        }
        return path
    }

    private static func scalar(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> JSONScalar {
        guard case .scalar(let text, let isPlain) = node.content else {
            throw nodes.problem(at: node, "“equals” must be text, a number, true, false or null")
        }
        return node.isNull ? .null : JSONScalar(text, isPlain: isPlain)
    }
}

/// A single value of JSON.
public enum JSONScalar: Equatable, Sendable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case null

    /// Creates the value of a scalar of YAML that is not null; only `true` and `false` are truth values, as in JSON.
    init(_ text: String, isPlain: Bool) {
        switch text {
        case "true" where isPlain, "false" where isPlain: self = .flag(text == "true")
        default: self = (isPlain ? Self.number(text) : nil).map { .number($0) } ?? .text(text)
        }
    }

    /// Reads a number; nil for what only Swift takes for one, such as `inf` and `0x10`.
    private static func number(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text)
    }

    /// The type and the value as texts.
    public var parts: [String] {
        switch self {
        case .text(let text): ["text", text]
        case .number(let number): ["number", "\(number)"]
        case .flag(let flag): ["flag", "\(flag)"]
        case .null: ["null"]
        }
    }

    /// Creates a value from its ``parts``; nil if they are invalid.
    public init?(parts: [String]) {
        switch (parts.first, parts.last) {
        case ("text", let text?) where parts.count == 2: self = .text(text)
        case ("number", let text?):
            guard let number = Double(text) else { return nil }
            self = .number(number)
        case ("flag", let text?): self = .flag(text == "true")
        case ("null", _): self = .null
        default: return nil
        }
    }
}

/// The path of a value in JSON, as in jq(1): `.a.b[0]."x y"`.
public struct JSONPath: Equatable, Sendable {
    public enum Step: Equatable, Sendable {
        case member(String)
        case element(Int)
    }

    static let maximumSteps = 30

    public let text: String
    /// The steps from the whole value; none for the whole value itself.
    public let steps: [Step]

    /// Parses a path; nil if it is invalid.
    public init?(_ text: String) {
        var (rest, steps): (Substring, [Step]) = (text[...], [])
        guard rest.first == "." else { return nil }
        if text == "." { rest = "" }
        while !rest.isEmpty {
            guard let step = Self.takeStep(&rest), steps.count < Self.maximumSteps else { return nil }
            steps.append(step)
        }
        (self.text, self.steps) = (text, steps)
    }

    /// The path for people, without the dot before it.
    public var name: String { steps.isEmpty ? "the response" : String(text.dropFirst()) }

    /// Removes `.name`, `."name"`, `[0]` or `["name"]`, the latter two also after a dot.
    private static func takeStep(_ rest: inout Substring) -> Step? {
        let hasDot = rest.first == "."
        if hasDot { rest.removeFirst() }
        switch rest.first {
        case "[":
            rest.removeFirst()
            let step: Step?
            if rest.first == "\"" {
                step = takeQuoted(&rest).map { .member($0) }
            } else {
                let digits = rest.prefix { $0.isASCII && $0.isNumber }
                rest.removeFirst(digits.count)
                step = Int(digits).map { .element($0) }
            }
            guard rest.first == "]" else { return nil }
            rest.removeFirst()
            return step
        case "\"": return hasDot ? takeQuoted(&rest).map { .member($0) } : nil
        default:
            let name = rest.prefix { !".[]\"\\ ".contains($0) }
            rest.removeFirst(name.count)
            return hasDot && !name.isEmpty ? .member(String(name)) : nil
        }
    }

    /// Removes a text in quotes, in which a backslash stands before `"` and `\`.
    private static func takeQuoted(_ rest: inout Substring) -> String? {
        var text = ""
        rest.removeFirst()
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                guard let next = rest.popFirst(), next == "\"" || next == "\\" else { return nil }
                text.append(next)
            default: text.append(character)
            }
        }
        return nil
    }
}
