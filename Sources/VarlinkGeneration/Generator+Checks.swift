// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription

/// Checks for errors in options, or in a description that is valid on its own.
extension Generator {
    func check() throws(GenerationError) {
        let methods = description.methods.map(\.name)
        let named = options.more + options.oneway + options.reads
        for method in named where !methods.contains(method) {
            throw GenerationError("options name the method “\(method)”, which \(description.name) does not have")
        }
        let types = types
        for type in options.types.keys.sorted() where types[type] == nil {
            throw GenerationError("options name the type “\(type)”, which \(description.name) does not have")
        }
        let keys = fieldKeys
        for key in options.fields.keys.sorted() where !keys.contains(key) {
            throw GenerationError("options name the field “\(key)”, which \(description.name) does not have")
        }
        var (outer, finite) = (Set<String>(), Set<String>())
        for name in types.keys.sorted() { try checkSize(of: name, among: types, within: &outer, &finite) }
    }

    private var types: [String: DataType] {
        var types: [String: DataType] = [:]
        for member in description.members { if case .type(let type) = member.kind { types[member.name] = type } }
        return types
    }

    private var fieldKeys: Set<String> {
        var keys: Set<String> = []
        func add(_ fields: [Field], _ owner: String) { keys.formUnion(fields.map { owner + $0.name }) }
        for member in description.members {
            switch member.kind {
            case .type(.structure(let fields)), .error(let fields): add(fields, member.name + ".")
            case .method(let parameters, let reply):
                add(parameters, member.name + ".")
                add(reply, member.name + "->")
            case .type: break
            }
        }
        return keys
    }

    /// Throws if a type contains itself, because Swift's structures have a fixed size.
    ///
    /// - Parameter finite: the types that have been checked, so that each is checked once.
    private func checkSize(
        of name: String, among types: [String: DataType], within outer: inout Set<String>, _ finite: inout Set<String>
    ) throws(GenerationError) {
        guard !finite.contains(name), options.types[name] == nil, let type = types[name] else { return }
        guard outer.insert(name).inserted else {
            throw GenerationError(
                "the type “\(name)” contains itself; use an array, or an option “type \(name) …”")
        }
        for part in Self.parts(of: type) { try checkSize(of: part, among: types, within: &outer, &finite) }
        outer.remove(name)
        finite.insert(name)
    }

    /// The types that a type contains.
    private static func parts(of type: DataType) -> [String] {
        switch type {
        case .named(let name): [name]
        case .nullable(let type): parts(of: type)
        case .structure(let fields): fields.flatMap { parts(of: $0.type) }
        case .array, .map, .bool, .int, .float, .string, .object, .enumeration: []
        }
    }
}
