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
        var pattern: String { "." + named { "let \($0.name)" } }
        /// `noSuchServer(server: server, reason: reason)`.
        var value: String { named { $0.argument } }
        /// `noSuchServer(server: String, reason: String?)`.
        var declaration: String { named { "\($0.name): \($0.type)" } }

        private func named(_ text: (Property) -> String) -> String {
            properties.isEmpty ? name : "\(name)(\(properties.map(text).joined(separator: ", ")))"
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
        source.line("\n/// An error of a call of `\(description.name)`.")
        source.line("nonisolated \(access)enum \(prefix)Error: InterfaceError, Hashable {")
        for error in cases {
            source.documentation(error.documentation, otherwise: "The error `\(error.error)`.")
            source.line("case \(error.declaration)")
        }
        source.line(
            """
            /// An error of `org.varlink.service`.
            case service(ServiceError)
            /// An error reply that is not in the description, or has other parameters.
            case other(VarlinkError)
            /// The service could not be called, or its reply could not be read.
            case connection(VarlinkClientError)
            /// The task was cancelled.
            case cancelled
            """)
        writeDecoding(of: cases)
        writeEncoding(of: cases)
        for error in cases { try writeNested(of: error.properties) }
        source.line("}")
    }

    private mutating func writeDecoding(of cases: [Case]) {
        source.line("\n\(access)static func own(_ reply: VarlinkError) throws(JSONError) -> \(prefix)Error? {")
        source.line("switch reply.name {")
        for error in cases {
            let payload = "try reply.parameters(\(error.error)Payload.self).error"
            source.line("case \"\(description.name).\(error.error)\":")
            source.line("    return \(error.properties.isEmpty ? ".\(error.name)" : payload)")
        }
        source.line("default: return nil\n}\n}")
        for error in cases where !error.properties.isEmpty {
            source.line("\nnonisolated private struct \(error.error)Payload: JSONReadable {")
            source.line("let error: \(prefix)Error\n")
            source.line("init(\(Self.readerParameter(error.properties))) throws(JSONError) {")
            writeReading(of: error.properties)
            source.line("self.error = .\(error.value)\n}\n}")
        }
    }

    private mutating func writeEncoding(of cases: [Case]) {
        source.line("\n\(access)var reply: VarlinkError? {\nswitch self {")
        for error in cases {
            let call = "VarlinkError(\"\(description.name).\(error.error)\")"
            let writer = SwiftNames.unused("writer", among: error.properties.map(\.name))
            source.line("case \(error.pattern):")
            source.line(error.properties.isEmpty ? "    \(call)" : "    \(call) { \(writer) in")
            for property in error.properties {
                source.line("    \(writer).member(\"\(property.key)\", \(property.name))")
            }
            if !error.properties.isEmpty { source.line("    }") }
        }
        source.line(
            """
            case .service(let error): error.reply
            case .other(let reply): reply
            case .connection, .cancelled: nil
            }
            }
            """)
    }
}
