// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// A call to a worker: run a plugin, or another program.
public struct PluginCall: JSONStructure, Equatable {
    /// The absolute path of the program and its arguments.
    public var command: [String]
    /// After this time in milliseconds, the worker ends the program.
    public var timeout: Int
    /// What the program reads from its standard input.
    public var input = ""
    /// Variables for the program, besides those of the worker.
    public var environment: [String: String] = [:]
    /// The names of the service's credentials that the program must get (`LoadCredential=`).
    public var credentials: [String] = []
    /// Whether processes of other users that it has started, such as a mail server's, may outlast it.
    public var sparesOthers = false

    public init(_ command: [String], timeout: Duration) {
        self.command = command
        self.timeout = Int(timeout / .milliseconds(1))
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init([], timeout: .zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "command": command = try [String](from: &reader)
            case "timeout": timeout = try Int(from: &reader)
            case "input": input = try String(from: &reader)
            case "environment": environment = try [String: String](from: &reader)
            case "sparesOthers": sparesOthers = try Bool(from: &reader)
            case "credentials": credentials = try [String](from: &reader)
            default: throw .unknownMember(name)
            }
        }
        if command.isEmpty { throw .missingMember("command") }
        if timeout == 0 { throw .missingMember("timeout") }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("command", command)
        writer.member("timeout", timeout)
        if !input.isEmpty { writer.member("input", input) }
        if !environment.isEmpty { writer.member("environment", environment) }
        if !credentials.isEmpty { writer.member("credentials", credentials) }
        if sparesOthers { writer.member("sparesOthers", true) }
    }
}

/// The outcome of a plugin: how it ended and what it wrote.
public struct PluginOutcome: JSONStructure, Equatable {
    public enum Ending: Sendable, Equatable {
        case exited(Int)
        case signaled(Int)
        /// The worker ended it after the timeout.
        case timedOut
        /// It could not be started, for this reason.
        case notStarted(String)
    }

    public var ending: Ending
    /// The beginning of its standard output.
    public var output: String
    /// The beginning of its standard error.
    public var errors: String
    /// Whether processes that the plugin left could not be ended yet; then the worker takes no further calls.
    public var leavesProcesses: Bool

    public init(_ ending: Ending, output: String = "", errors: String = "", leavesProcesses: Bool = false) {
        self.ending = ending
        self.output = output
        self.errors = errors
        self.leavesProcesses = leavesProcesses
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var ending: Ending?
        var (output, errors, leavesProcesses) = ("", "", false)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "exitStatus": ending = .exited(try Int(from: &reader))
            case "signal": ending = .signaled(try Int(from: &reader))
            case "timedOut": ending = try Bool(from: &reader) ? .timedOut : ending
            case "notStarted": ending = .notStarted(try String(from: &reader))
            case "output": output = try String(from: &reader)
            case "errors": errors = try String(from: &reader)
            case "leavesProcesses": leavesProcesses = try Bool(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let ending else { throw .missingMember("exitStatus") }
        self.init(ending, output: output, errors: errors, leavesProcesses: leavesProcesses)
    }

    public func writeMembers(to writer: inout JSONWriter) {
        switch ending {
        case .exited(let status): writer.member("exitStatus", status)
        case .signaled(let number): writer.member("signal", number)
        case .timedOut: writer.member("timedOut", true)
        case .notStarted(let reason): writer.member("notStarted", reason)
        }
        writer.member("output", output)
        writer.member("errors", errors)
        writer.member("leavesProcesses", leavesProcesses)
    }
}
