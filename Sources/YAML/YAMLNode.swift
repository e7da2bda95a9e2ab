// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML document and its position in the text.
public struct YAMLNode: Sendable {
    public struct Mark: Hashable, Sendable {
        /// The line, counted from 1.
        public var line: Int
        /// The column in characters, counted from 1.
        public var column: Int
    }

    /// The three kinds of values.
    public enum Content: Sendable {
        /// A text. A plain scalar has no quotes, so it may mean null, a number, true or false.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// The members in the order of the text; keys are unique scalars.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    public let content: Content
    /// The position where the value starts; for an alias, where the aliased value starts.
    public let mark: Mark
    /// The number of nodes in it, including itself.
    let size: Int

    init(_ content: Content, mark: Mark) {
        self.content = content
        self.mark = mark
        size =
            switch content {
            case .scalar: 1
            case .sequence(let nodes): nodes.reduce(1) { $0 + $1.size }
            case .mapping(let members): members.reduce(1) { $0 + $1.key.size + $1.value.size }
            }
    }

    public var string: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    public var sequence: [YAMLNode]? {
        if case .sequence(let nodes) = content { nodes } else { nil }
    }

    public var mapping: [(key: YAMLNode, value: YAMLNode)]? {
        if case .mapping(let members) = content { members } else { nil }
    }

    /// Whether the value is null: `~`, `null` or nothing, without quotes.
    public var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The truth value of a plain scalar; nil for other values.
    ///
    /// As in YAML 1.1, `true`, `yes`, `on`, `false`, `no` and `off` have one.
    /// Whether the value is `true` or `false` without quotes, which no name of a unit or a process is meant to be.
    public var isTrueOrFalse: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return ["true", "false"].contains(text.lowercased())
    }

    public var bool: Bool? {
        guard case .scalar(let text, isPlain: true) = content else { return nil }
        switch text.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default: return nil
        }
    }
}

extension YAMLNode {
    /// The key without the text after a colon.
    ///
    /// That text may be a secret value, if the space after the colon was forgotten.
    public var keyToShow: String {
        let text = string ?? "?"
        let start = text.prefix { $0 != ":" }
        return start.endIndex == text.endIndex ? text : "\(start):…"
    }
}
