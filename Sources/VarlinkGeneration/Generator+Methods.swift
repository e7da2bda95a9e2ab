// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription

/// The client and the service: one function for each method.
extension Generator {
    /// A method with its Swift names.
    private struct Method {
        var name: String
        var documentation: String
        var parameters: [Property]
        var parametersType: String
        var reply: String

        var function: String { SwiftNames.value(name) }
        var baseName: String { SwiftNames.label(function) }
        /// Its parameters as a function's parameters.
        var arguments: [String] { parameters.map { "\($0.name): \($0.type)\($0.isOptional ? " = nil" : "")" } }
        /// The parameters as a value.
        var value: String { "\(parametersType)(\(parameters.map(\.argument).joined(separator: ", ")))" }
    }

    private func methods() throws(GenerationError) -> [Method] {
        var methods: [Method] = []
        for member in description.methods {
            guard case .method(let parameters, let reply) = member.kind else { continue }
            let type = "\(interface).\(member.name)Parameters"
            methods.append(
                Method(
                    name: member.name, documentation: member.documentation,
                    parameters: try properties(parameters, of: member.name, nesting: "\(type)."),
                    parametersType: parameters.isEmpty ? "NoMembers" : type,
                    reply: reply.isEmpty ? "NoMembers" : "\(interface).\(member.name)Reply"))
        }
        return methods
    }

    // MARK: Client

    mutating func writeClient() throws(GenerationError) {
        source.line(
            """

            /// A client of `\(description.name)`.
            @VarlinkActor
            \(access)struct \(prefix)Client: Sendable {
            /// The connection of its calls.
            \(access)let connection: VarlinkConnection

            /// Creates a client of the service at the other end of `connection`.
            \(access)nonisolated init(_ connection: VarlinkConnection) { self.connection = connection }
            """)
        for method in try methods() { writeFunctions(of: method) }
        source.line("}")
    }

    private mutating func writeFunctions(of method: Method) {
        let failure = "\(prefix)Error"
        let call = "\"\(description.name).\(method.name)\", \(method.value)"
        let limit = SwiftNames.unused("limit", among: method.parameters.map(\.name))
        let silence = SwiftNames.unused("silence", among: method.parameters.map(\.name) + [limit])
        let within = "within \(limit): Duration? = VarlinkConnection.replyTimeout"
        let arguments = (method.arguments + [within]).joined(separator: ", ")
        let expected = "returning: \(method.reply).self, failure: \(failure).self, timeout: \(limit)"
        let hasReply = method.reply != "NoMembers"
        writeFunction(
            of: method, "",
            "\(method.function)(\(arguments)) async throws(\(failure))\(hasReply ? " -> \(method.reply)" : "")",
            "\(hasReply ? "" : "_ = ")try await self.connection.call(\(call), \(expected))")
        if options.more.contains(method.name) {
            let last = silence == "silence" ? "silence: Duration? = nil" : "silence \(silence): Duration? = nil"
            let replies = "MethodReplies<\(method.reply), \(failure)>"
            let times = "timeout: \(limit), silence: \(silence)"
            writeFunction(
                of: method, " with more",
                "\(method.baseName)Replies(\(arguments), \(last)) throws(\(failure)) -> \(replies)",
                "try self.connection.stream(\(call), of: \(method.reply).self, failure: \(failure).self, \(times))")
        }
        if options.oneway.contains(method.name) {
            writeFunction(
                of: method, " without a reply",
                "\(method.baseName)Oneway(\(method.arguments.joined(separator: ", "))) throws(\(failure))",
                "try self.connection.callOneway(\(call), failure: \(failure).self)")
        }
    }

    private mutating func writeFunction(of method: Method, _ manner: String, _ head: String, _ body: String) {
        source.line()
        source.documentation(method.documentation, otherwise: "Calls `\(method.name)`\(manner).")
        source.line("\(access)func \(head) {\n\(body)\n}")
    }

    // MARK: Service

    mutating func writeService() throws(GenerationError) {
        let methods = try methods()
        source.line(
            """

            /// A call of `\(description.name)`.
            \(access)typealias \(prefix)Call<Reply: JSONStructure> = MethodCall<Reply, \(prefix)Error>

            /// A service that implements `\(description.name)`.
            @VarlinkActor
            \(access)protocol \(prefix)Service: VarlinkInterface {
            """)
        for method in methods {
            let parameters = method.parameters.isEmpty ? "" : "_ parameters: \(method.parametersType), "
            source.documentation(method.documentation, otherwise: "Answers `\(method.name)`.")
            source.line("func \(method.function)(\(parameters)_ call: \(prefix)Call<\(method.reply)>) throws\n")
        }
        source.line(
            """
            /// Called before the parameters of a call are read; an error that it throws is the answer.
            func admit(_ call: VarlinkCall) throws

            /// Returns the error that answers a call whose function has thrown; nil logs the error and closes the
            /// connection.
            func failure(for error: any Error) -> \(prefix)Error?
            }

            extension \(prefix)Service {
            \(access)nonisolated var interfaceDescription: InterfaceDescription { \(interface).description }

            """)
        // The service's own code may call its messages by their short names.
        for type in methods.flatMap({ [$0.parametersType, $0.reply] }) where type != "NoMembers" {
            source.line("\(access)typealias \(type.dropFirst(interface.count + 1)) = \(type)")
        }
        source.line()
        if options.reads.isEmpty {
            source.line("/// Admits every call.\n\(access)func admit(_ call: VarlinkCall) {}\n")
        } else {
            // The service must say who may call the methods that every user may not call.
            let list = "\(options.reads.sorted())"
            source.line("/// Whether a method changes nothing, by the option `reads`.")
            source.line("\(access)nonisolated func onlyReads(_ method: String) -> Bool { \(list).contains(method) }\n")
        }
        source.line(
            """
            /// Answers with errors of the interface.
            \(access)func failure(for error: any Error) -> \(prefix)Error? { error as? \(prefix)Error }

            """)
        writeHandler(methods)
        source.line("}")
    }

    private mutating func writeHandler(_ methods: [Method]) {
        source.line(
            """
            /// Reads the parameters of a call, and lets its function answer it.
            \(access)func handle(_ call: VarlinkCall) {
            do {
            try admit(call)
            switch call.methodIndex {
            """)
        // By position, because comparing names would take longer than many calls.
        for (index, method) in methods.enumerated() {
            let hasParameters = !method.parameters.isEmpty
            source.line("case \(index):")
            if !hasParameters { source.line("    _ = try call.parameters(NoMembers.self)") }
            source.line("    try \(method.function)(\(hasParameters ? "call.parameters(), " : "")\(prefix)Call(call))")
        }
        source.line(
            """
            default: call.failNotImplemented()
            }
            } catch let error as VarlinkError {
            call.fail(error)
            } catch {
            if let reply = failure(for: error)?.reply { call.fail(reply) } else { call.hangUp(because: error) }
            }
            }
            """)
    }
}
