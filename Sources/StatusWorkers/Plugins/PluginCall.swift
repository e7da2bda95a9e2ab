// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import Varlink

/// The settings of a plugin are also the call to a worker that runs it.
extension ExecSettings: JSONStructure {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(command: [])
        try reader.object { name, reader throws(JSONError) in
            guard name == "command" else { throw .unknownMember(name) }
            command = try [String](from: &reader)
        }
        if command.isEmpty { throw .missingMember("command") }
    }

    public func writeMembers(to writer: inout JSONWriter) { writer.member("command", command) }
}

/// The outcome of a plugin: how it ended and what it wrote.
public struct PluginOutcome: JSONStructure, Equatable {
    public enum Ending: Sendable, Equatable {
        case exited(Int)
        case signaled(Int)
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
        case .notStarted(let reason): writer.member("notStarted", reason)
        }
        writer.member("output", output)
        writer.member("errors", errors)
        writer.member("leavesProcesses", leavesProcesses)
    }
}
