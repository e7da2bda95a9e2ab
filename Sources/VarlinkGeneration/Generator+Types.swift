// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription

/// Structures, enumerations, and the Swift types of members.
extension Generator {
    /// Writes a structure or an enumeration.
    ///
    /// - Parameter owner: the name of its members' owner in the options.
    mutating func write(
        _ type: DataType, named name: String, of owner: String, documentation: String
    ) throws(GenerationError) {
        source.line()
        source.documentation(documentation, otherwise: "The type `\(name)`.")
        switch type {
        case .enumeration(let cases): writeEnumeration(name, cases)
        case .structure(let fields): try writeStructure(name, properties(fields, of: owner))
        default: source.line("\(access)typealias \(name) = \(try swiftType(type, of: owner, nested: name))")
        }
    }

    private mutating func writeEnumeration(_ name: String, _ cases: [String]) {
        source.line("nonisolated \(access)enum \(name): String, JSONEnumeration {")
        for raw in cases {
            let name = SwiftNames.value(raw)
            source.line(name == raw || name == "`\(raw)`" ? "case \(name)" : "case \(name) = \"\(raw)\"")
        }
        source.line("}")
    }

    private mutating func writeStructure(_ name: String, _ properties: [Property]) throws(GenerationError) {
        source.line("nonisolated \(access)struct \(name): JSONStructure, Hashable {")
        for property in properties {
            source.documentation(property.documentation)
            source.line("\(access)var \(property.name): \(property.type)")
        }
        let parameters = properties.map { "\($0.name): \($0.type)\($0.isOptional ? " = nil" : "")" }
        let assignments = properties.map { "self.\($0.name) = \($0.name)" }
        let writer = SwiftNames.unused("writer", among: properties.map(\.name))
        source.line("\n/// Creates a value from its members.")
        source.line("\(access)init(\(parameters.joined(separator: ", "))) {")
        for assignment in assignments { source.line(assignment) }
        source.line("}\n")
        source.line("\(access)init(\(Self.readerParameter(properties))) throws(JSONError) {")
        writeReading(of: properties)
        for assignment in assignments { source.line(assignment) }
        source.line("}\n")
        source.line("\(access)func writeMembers(to \(writer): inout JSONWriter) {")
        for property in properties { source.line("\(writer).member(\"\(property.key)\", \(property.name))") }
        source.line("}")
        try writeNested(of: properties)
        source.line("}")
    }

    /// Writes the types of properties that have no name in the description.
    mutating func writeNested(of properties: [Property]) throws(GenerationError) {
        for property in properties {
            guard let type = property.nested else { continue }
            try write(type, named: property.nestedName, of: property.owner, documentation: "")
        }
    }

    /// The parameter of an initializer that reads the properties.
    static func readerParameter(_ properties: [Property]) -> String {
        let reader = SwiftNames.unused("reader", among: properties.map(\.name))
        return "from \(reader): inout JSONReader"
    }

    /// Writes code that reads an object into local variables of the properties' names.
    mutating func writeReading(of properties: [Property]) {
        for property in properties {
            source.line("var \(property.name): \(property.type)\(property.isOptional ? "" : "?")")
        }
        let names = properties.map(\.name)
        let (key, reader) = (SwiftNames.unused("key", among: names), SwiftNames.unused("reader", among: names))
        source.line("try \(reader).object { \(key), \(reader) throws(JSONError) in")
        source.line("switch \(key) {")
        for property in properties {
            source.line("case \"\(property.key)\": \(property.name) = try \(property.type)(from: &\(reader))")
        }
        source.line("default: try \(reader).unknownMember(\(key))\n}\n}")
        for property in properties where !property.isOptional {
            source.line("guard let \(property.name) else { throw .missingMember(\"\(property.key)\") }")
        }
    }

    // MARK: Members

    /// A member of a structure as a property in Swift.
    struct Property {
        /// Its name in JSON.
        var key: String
        /// Its name in Swift, in backquotes if necessary.
        var name: String
        var type: String
        var documentation: String
        /// The structure's name in the options.
        var owner: String
        /// Its type, if the type has no name in the description.
        var nested: DataType?
        var nestedName: String

        /// The property as an argument whose value has the same name.
        var argument: String { "\(SwiftNames.label(name)): \(name)" }
        var isOptional: Bool { type.hasSuffix("?") }
    }

    func properties(_ fields: [Field], of owner: String, nesting: String = "") throws(GenerationError) -> [Property] {
        var properties: [Property] = []
        for field in fields {
            let nestedName = nesting + SwiftNames.type(field.name)
            let type = try swiftType(field.type, of: "\(fieldKey(owner, field.name))", nested: nestedName)
            properties.append(
                Property(
                    key: field.name, name: SwiftNames.value(field.name), type: type, documentation: field.documentation,
                    owner: fieldKey(owner, field.name), nested: nestedType(field.type, of: fieldKey(owner, field.name)),
                    nestedName: nestedName))
        }
        var names: Set<String> = []
        for property in properties where !names.insert(property.name).inserted {
            throw GenerationError("two members of \(owner) have the same Swift name “\(property.name)”")
        }
        return properties
    }

    /// The name of a member in the options: `Type.member`, or `Method->member`.
    private func fieldKey(_ owner: String, _ name: String) -> String {
        owner.hasSuffix("-") ? "\(owner)>\(name)" : "\(owner).\(name)"
    }

    /// The Swift type of a member, which is called `key` in the options.
    private func swiftType(_ type: DataType, of key: String, nested: String) throws(GenerationError) -> String {
        if case .nullable(let type) = type { return try swiftType(type, of: key, nested: nested) + "?" }
        if let own = options.fields[key] { return own }
        switch type {
        case .bool: return "Bool"
        case .int: return "Int"
        case .float: return "Double"
        case .string: return "String"
        case .object: return "JSONText"
        case .named(let name): return options.types[name] ?? "\(interface).\(SwiftNames.type(name))"
        case .array(let element): return "[\(try swiftType(element, of: key, nested: nested))]"
        case .map(.structure([])): return "Set<String>"
        case .map(let value): return "[String: \(try swiftType(value, of: key, nested: nested))]"
        case .nullable, .structure, .enumeration: return nested
        }
    }

    /// The structure or enumeration in a type that has no name.
    private func nestedType(_ type: DataType, of key: String) -> DataType? {
        guard options.fields[key] == nil else { return nil }
        switch type {
        case .structure, .enumeration: return type
        case .map(.structure([])): return nil
        case .array(let type), .map(let type), .nullable(let type): return nestedType(type, of: key)
        case .bool, .int, .float, .string, .object, .named: return nil
        }
    }
}
