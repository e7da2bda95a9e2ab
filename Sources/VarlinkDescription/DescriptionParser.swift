// SPDX-License-Identifier: Apache-2.0

/// Turns the tokens of a description into an interface.
struct DescriptionParser {
    typealias Field = InterfaceDescription.Field
    typealias DataType = InterfaceDescription.DataType
    typealias Member = InterfaceDescription.Member

    private let tokens: [DescriptionToken]
    private var position = 0
    /// How deeply the current type is nested.
    private var depth = 0
    /// The nesting limit, which protects the stack, because a description may come from anywhere.
    private static let maximumDepth = 32
    /// The names of types in use, which are looked up once all types are known.
    private var mentioned: [(name: String, token: DescriptionToken)] = []

    init(_ tokens: [DescriptionToken]) { self.tokens = tokens }

    private var current: DescriptionToken { tokens[position] }

    mutating func interface() throws(InterfaceDescriptionError) -> (
        name: String, documentation: String, members: [Member]
    ) {
        let documentation = current.documentation
        try keyword("interface")
        let name = try word("the interface's name", where: Self.isInterfaceName)
        var members: [Member] = []
        var names: Set<String> = []
        while current.kind != .end {
            let token = current
            let member = try member()
            guard names.insert(member.name).inserted else { throw token.error("duplicate name “\(member.name)”") }
            members.append(member)
        }
        let types = Set(members.compactMap { if case .type = $0.kind { $0.name } else { nil } })
        for (name, token) in mentioned where !types.contains(name) { throw token.error("unknown type “\(name)”") }
        return (name, documentation, members)
    }

    private mutating func member() throws(InterfaceDescriptionError) -> Member {
        let first = current
        guard case .word(let keyword) = first.kind, ["type", "method", "error"].contains(keyword) else {
            throw first.error("expected “type”, “method” or “error”")
        }
        position += 1
        let name = try word("a name that starts with a capital letter", where: Self.isMemberName)
        let kind: Member.Kind
        switch keyword {
        case "type":
            try expect("(")
            kind = .type(try structureOrEnumeration())
        case "method":
            let parameters = try fields()
            try expect("->")
            kind = .method(parameters: parameters, reply: try fields())
        default: kind = .error(try fields())
        }
        return Member(name: name, documentation: first.documentation, kind: kind)
    }

    // MARK: Types

    private mutating func type() throws(InterfaceDescriptionError) -> DataType {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw current.error("types are nested too deeply") }
        if take("?") {
            guard current.kind != .mark("?") else { throw current.error("nullable twice") }
            return .nullable(try type())
        }
        if take("[") {
            if take("]") { return .array(try type()) }
            try keyword("string")
            try expect("]")
            return .map(try type())
        }
        if take("(") { return try structureOrEnumeration() }
        let token = current
        let name = try word("a type") { _ in true }
        switch name {
        case "bool": return .bool
        case "int": return .int
        case "float": return .float
        case "string": return .string
        // “any” is the newer name, because “object” was never limited to objects.
        case "object", "any": return .object
        default:
            guard Self.isMemberName(name) else { throw token.error("unknown type “\(name)”") }
            mentioned.append((name, token))
            return .named(name)
        }
    }

    /// Reads the rest after an opening parenthesis: fields with types, or names alone.
    private mutating func structureOrEnumeration() throws(InterfaceDescriptionError) -> DataType {
        guard case .word = current.kind, [.mark(","), .mark(")")].contains(tokens[position + 1].kind) else {
            return .structure(try fieldsAfterParenthesis())
        }
        var names: [String] = []
        try list(of: "a name") { _, _, name in names.append(name) }
        return .enumeration(names)
    }

    private mutating func fields() throws(InterfaceDescriptionError) -> [Field] {
        try expect("(")
        return try fieldsAfterParenthesis()
    }

    private mutating func fieldsAfterParenthesis() throws(InterfaceDescriptionError) -> [Field] {
        if take(")") { return [] }
        var fields: [Field] = []
        try list(of: "a field's name") { parser, token, name throws(InterfaceDescriptionError) in
            try parser.expect(":")
            fields.append(Field(name: name, type: try parser.type(), documentation: token.documentation))
        }
        return fields
    }

    /// Reads a list whose elements begin with names, each only once, up to the closing parenthesis.
    private mutating func list(
        of expected: String,
        _ element: (inout DescriptionParser, DescriptionToken, String) throws(InterfaceDescriptionError) -> Void
    ) throws(InterfaceDescriptionError) {
        var known: Set<String> = []
        repeat {
            let token = current
            let name = try word(expected, where: Self.isFieldName)
            guard known.insert(name).inserted else { throw token.error("duplicate name “\(name)”") }
            try element(&self, token, name)
        } while take(",")
        try expect(")")
    }

    // MARK: Words and marks

    private mutating func keyword(_ text: String) throws(InterfaceDescriptionError) {
        guard current.kind == .word(text) else { throw current.error("expected “\(text)”") }
        position += 1
    }

    private mutating func expect(_ mark: String) throws(InterfaceDescriptionError) {
        guard take(mark) else { throw current.error("expected “\(mark)”") }
    }

    private mutating func take(_ mark: String) -> Bool {
        guard current.kind == .mark(mark) else { return false }
        position += 1
        return true
    }

    private mutating func word(
        _ expected: String, where isValid: (String) -> Bool
    ) throws(InterfaceDescriptionError) -> String {
        guard case .word(let word) = current.kind, isValid(word) else { throw current.error("expected \(expected)") }
        position += 1
        return word
    }

    // MARK: Names

    private static func isInterfaceName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2 && parts[0].first?.isLetter == true
            && parts.allSatisfy { !$0.isEmpty && !$0.contains("_") && $0.first != "-" && $0.last != "-" }
    }

    private static func isMemberName(_ name: String) -> Bool {
        name.first.map { $0.isUppercase } == true && name.allSatisfy { $0.isLetter || $0.isNumber }
    }

    private static func isFieldName(_ name: String) -> Bool {
        name.first?.isLetter == true
            && name.split(separator: "_", omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty && part.allSatisfy { $0.isLetter || $0.isNumber }
            }
    }
}
