// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription

/// The enumeration of the interface's errors.
extension Generator {
    private var errors: [(name: String, documentation: String, fields: [Field])] {
        description.members.compactMap { member in
            if case .error(let fields) = member.kind { (member.name, member.documentation, fields) } else { nil }
        }
    }

    /// An error as a case.
    private struct Case {
        var name: String
        /// Its name in the description.
        var error: String
        var documentation: String
        var properties: [Property]

        /// `.noSuchServer(let server, let reason)`.
        var pattern: String {
            properties.isEmpty
                ? ".\(name)" : ".\(name)(\(properties.map { "let \($0.name)" }.joined(separator: ", ")))"
        }

        /// `noSuchServer(server: server, reason: reason)`.
        var value: String {
            properties.isEmpty
                ? name : "\(name)(\(properties.map(\.argument).joined(separator: ", ")))"
        }

        /// `noSuchServer(server: String, reason: String?)`.
        var declaration: String {
            properties.isEmpty
                ? name : "\(name)(\(properties.map { "\($0.name): \($0.type)" }.joined(separator: ", ")))"
        }
    }

    mutating func writeErrors() throws(GenerationError) {
        var cases: [Case] = []
        for error in errors {
            let name = SwiftNames.value(error.name)
            let isTaken = ["service", "other", "connection", "cancelled", "own", "reply"].contains(name)
            cases.append(
                Case(
                    name: isTaken ? "\(name)Error" : name, error: error.name, documentation: error.documentation,
                    properties: try properties(error.fields, of: error.name, nesting: error.name)))
        }
        source.line()
        source.line("/// Why a call of `\(description.name)` failed.")
        var generator = self
        try source.block("\(access)enum \(prefix)Error: InterfaceError, Hashable") { source throws(GenerationError) in
            generator.source = source
            try generator.writeBody(of: cases)
            source = generator.source
        }
    }

    private mutating func writeBody(of cases: [Case]) throws(GenerationError) {
        for error in cases {
            source.documentation(error.documentation, otherwise: "The error `\(error.error)`.")
            source.line("case \(error.declaration)")
        }
        source.line("/// An error of `org.varlink.service`.")
        source.line("case service(ServiceError)")
        source.line("/// An error reply that the description does not have, or not with these parameters.")
        source.line("case other(VarlinkError)")
        source.line("/// The service could not be called, or its reply could not be read.")
        source.line("case connection(VarlinkClientError)")
        source.line("/// The task was cancelled.")
        source.line("case cancelled")
        try writeDecoding(of: cases)
        try writeEncoding(of: cases)
        for error in cases {
            for property in error.properties {
                try writeNested(property.nested, named: property.nestedName, of: property.owner)
            }
        }
    }

    private mutating func writeDecoding(of cases: [Case]) throws(GenerationError) {
        let (prefix, name) = (prefix, description.name)
        source.line()
        try source.block("\(access)static func own(_ reply: VarlinkError) throws(JSONError) -> \(prefix)Error?") {
            source throws(GenerationError) in
            try source.block("switch reply.name", indented: false) { source throws(GenerationError) in
                for error in cases {
                    let payload = error.properties.isEmpty
                    source.line("case \"\(name).\(error.error)\":")
                    source.line(
                        payload
                            ? "    return .\(error.name)"
                            : "    return try reply.parameters(\(error.error)Payload.self).error")
                }
                source.line("default: return nil")
            }
        }
        for error in cases where !error.properties.isEmpty {
            source.line()
            try source.block("private struct \(error.error)Payload: JSONReadable") { source throws(GenerationError) in
                source.line("let error: \(prefix)Error")
                source.line()
                try source.block("init(\(Self.readerParameter(error.properties))) throws(JSONError)") {
                    source throws(GenerationError) in
                    try Self.writeReading(of: error.properties, to: &source)
                    source.line("self.error = .\(error.value)")
                }
            }
        }
    }

    private mutating func writeEncoding(of cases: [Case]) throws(GenerationError) {
        let name = description.name
        source.line()
        try source.block("\(access)var reply: VarlinkError?") { source throws(GenerationError) in
            try source.block("switch self", indented: false) { source throws(GenerationError) in
                for error in cases {
                    source.line("case \(error.pattern):")
                    let call = "    VarlinkError(\"\(name).\(error.error)\")"
                    guard !error.properties.isEmpty else {
                        source.line(call)
                        continue
                    }
                    let writer = SwiftNames.unused("writer", among: error.properties.map(\.name))
                    source.line("\(call) { \(writer) in")
                    for property in error.properties {
                        source.line("        \(writer).member(\"\(property.key)\", \(property.name))")
                    }
                    source.line("    }")
                }
                source.line("case .service(let error): error.reply")
                source.line("case .other(let reply): reply")
                source.line("case .connection, .cancelled: nil")
            }
        }
    }
}
