// SPDX-License-Identifier: Apache-2.0

import VarlinkDescription

/// The client and the service: one function for each method.
extension Generator {
    /// A method with its Swift names.
    private struct Method {
        var name: String
        var documentation: String
        var parameters: [Property]
        var reply: String

        var function: String { SwiftNames.value(name) }
        var baseName: String { SwiftNames.label(function) }
        var parametersType: String { parameters.isEmpty ? "NoMembers" : "\(name)Parameters" }
        /// Its parameters as those of a function.
        var arguments: [String] { parameters.map { "\($0.name): \($0.type)\($0.isOptional ? " = nil" : "")" } }
        /// The parameters as a value.
        var value: String {
            "\(parametersType)(\(parameters.map(\.argument).joined(separator: ", ")))"
        }
    }

    private func methods() throws(GenerationError) -> [Method] {
        var methods: [Method] = []
        for member in description.methods {
            guard case .method(let parameters, let reply) = member.kind else { continue }
            methods.append(
                Method(
                    name: member.name, documentation: member.documentation,
                    parameters: try properties(parameters, of: member.name, nesting: "\(member.name)Parameters."),
                    reply: reply.isEmpty ? "NoMembers" : "\(member.name)Reply"))
        }
        return methods
    }

    // MARK: Client

    mutating func writeClient() throws(GenerationError) {
        let methods = try methods()
        source.line()
        source.line("/// A client of `\(description.name)`.")
        source.line("@EventLoop")
        var generator = self
        try source.block("\(access)struct \(prefix)Client: Sendable") { source throws(GenerationError) in
            source.line("/// Where its calls go.")
            source.line("\(generator.access)let connection: VarlinkConnection")
            source.line()
            source.line("/// A client that calls the service at the other end of `connection`.")
            source.line(
                "\(generator.access)nonisolated init(_ connection: VarlinkConnection) { self.connection = connection }")
            generator.source = source
            for method in methods { try generator.writeFunctions(of: method) }
            source = generator.source
        }
    }

    private mutating func writeFunctions(of method: Method) throws(GenerationError) {
        let (failure, name) = ("\(prefix)Error", "\(description.name).\(method.name)")
        let call = "\"\(name)\", \(method.value)"
        let limit = SwiftNames.unused("limit", among: method.parameters.map(\.name))
        let silence = SwiftNames.unused("silence", among: method.parameters.map(\.name) + [limit])
        let within = "within \(limit): Duration? = VarlinkConnection.replyTimeout"
        source.line()
        source.documentation(method.documentation, otherwise: "Calls `\(method.name)`.")
        let arguments = (method.arguments + [within]).joined(separator: ", ")
        let result = method.reply == "NoMembers" ? "" : " -> \(method.reply)"
        try source.block("\(access)func \(method.function)(\(arguments)) async throws(\(failure))\(result)") {
            source throws(GenerationError) in
            let value =
                "try await self.connection.call(\(call), returning: \(method.reply).self, failure: \(failure).self, timeout: \(limit))"
            source.line(result.isEmpty ? "_ = \(value)" : value)
        }
        if options.more.contains(method.name) {
            source.line()
            source.documentation(method.documentation, otherwise: "Calls `\(method.name)` with more.")
            let last = silence == "silence" ? "silence: Duration? = nil" : "silence \(silence): Duration? = nil"
            let all = (method.arguments + [within, last]).joined(separator: ", ")
            try source.block(
                "\(access)func \(method.baseName)Replies(\(all)) throws(\(failure)) -> MethodReplies<\(method.reply), \(failure)>"
            ) { source throws(GenerationError) in
                source.line(
                    "try self.connection.stream(\(call), of: \(method.reply).self, failure: \(failure).self, timeout: \(limit), silence: \(silence))"
                )
            }
        }
        if options.upgrade.contains(method.name) {
            source.line()
            source.documentation(method.documentation, otherwise: "Calls `\(method.name)` with upgrade.")
            let upgraded = "(reply: \(method.reply), connection: UpgradedConnection)"
            try source.block(
                "\(access)func \(method.baseName)Upgrade(\(arguments)) async throws(\(failure)) -> \(upgraded)"
            ) { source throws(GenerationError) in
                source.line(
                    "try await self.connection.upgrade(\(call), returning: \(method.reply).self, failure: \(failure).self, timeout: \(limit))"
                )
            }
        }
        if options.oneway.contains(method.name) {
            source.line()
            source.documentation(method.documentation, otherwise: "Calls `\(method.name)` without a reply.")
            try source.block(
                "\(access)func \(method.baseName)Oneway(\(method.arguments.joined(separator: ", "))) throws(\(failure))"
            ) { source throws(GenerationError) in
                source.line("try self.connection.callOneway(\(call), failure: \(failure).self)")
            }
        }
    }

    // MARK: Service

    mutating func writeService() throws(GenerationError) {
        let methods = try methods()
        source.line()
        source.line("/// A call of `\(description.name)`.")
        source.line("\(access)typealias \(prefix)Call<Reply: JSONStructure> = MethodCall<Reply, \(prefix)Error>")
        source.line()
        source.line("/// A service that implements `\(description.name)`.")
        source.line("@EventLoop")
        let (prefix, access, options) = (prefix, access, options)
        func writeList(_ function: String, _ methods: [String], _ comment: String, to source: inout SwiftSource) {
            guard !methods.isEmpty else { return }
            source.line("/// \(comment)")
            source.line(
                "\(access)nonisolated func \(function)(_ method: String) -> Bool { \(methods.sorted()).contains(method) }"
            )
            source.line()
        }
        try source.block("\(access)protocol \(prefix)Service: VarlinkInterface") { source throws(GenerationError) in
            for method in methods {
                source.documentation(method.documentation, otherwise: "Answers `\(method.name)`.")
                let parameters = method.parameters.isEmpty ? "" : "_ parameters: \(method.parametersType), "
                source.line("func \(method.function)(\(parameters)_ call: \(prefix)Call<\(method.reply)>) throws")
                source.line()
            }
            source.line("/// Called before the parameters of a call are read; an error that it throws is the answer.")
            source.line("func admit(_ call: VarlinkCall) throws")
            source.line()
            source.line("/// The answer to a call whose function has thrown; nil closes the connection.")
            source.line("func failure(for error: any Error) -> \(prefix)Error?")
        }
        source.line()
        try source.block("extension \(prefix)Service") { source throws(GenerationError) in
            source.line(
                "\(access)nonisolated var interfaceDescription: InterfaceDescription { \(prefix)Interface.description }"
            )
            source.line()
            writeList(
                "onlyReads", options.reads, "Whether a method changes nothing, by the option `reads`.", to: &source)
            writeList(
                "upgrades", options.upgrade, "Whether a method upgrades a connection, by the option `upgrade`.",
                to: &source)
            source.line("/// Admits every call.")
            source.line("\(access)func admit(_ call: VarlinkCall) {}")
            source.line()
            source.line("/// Answers with errors of the interface.")
            source.line("\(access)func failure(for error: any Error) -> \(prefix)Error? { error as? \(prefix)Error }")
            source.line()
            source.line("/// Reads the parameters of a call, and has its function answer it.")
            try source.block("\(access)func handle(_ call: VarlinkCall)") { source throws(GenerationError) in
                try source.block("do", end: "} catch let error as VarlinkError {") { source throws(GenerationError) in
                    source.line("try admit(call)")
                    try source.block("switch call.methodIndex", indented: false) { source throws(GenerationError) in
                        // By position, because comparing names would take longer than many a call.
                        for (index, method) in methods.enumerated() {
                            source.line("case \(index):")
                            if method.parameters.isEmpty {
                                source.line("    _ = try call.parameters(NoMembers.self)")
                                source.line("    try \(method.function)(\(prefix)Call(call))")
                            } else {
                                source.line("    try \(method.function)(call.parameters(), \(prefix)Call(call))")
                            }
                        }
                        source.line("default: call.failNotImplemented()")
                    }
                }
                source.line("    call.fail(error)")
                try source.block("} catch") { source throws(GenerationError) in
                    source.line("if let reply = failure(for: error)?.reply { call.fail(reply) } else { call.hangUp() }")
                }
            }
        }
    }
}
