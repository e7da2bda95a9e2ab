// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// The call to a worker that runs plugins.
public struct PluginCall: JSONReadable, JSONWritable, Sendable {
    /// The path of the plugin, and its arguments.
    public var command: [String]

    /// Creates a call.
    public init(command: [String]) { self.command = command }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var command: [String]?
        try reader.object { name, reader throws(JSONError) in
            guard name == "command" else { throw .unknownMember(name) }
            command = try [String](from: &reader)
        }
        guard let command, !command.isEmpty else { throw .missingMember("command") }
        self.command = command
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("command", command) }
    }
}
