// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import Varlink

/// One error or warning of the configuration.
public struct Failure: JSONReadable, JSONWritable, Hashable, Sendable, CustomStringConvertible {
    /// The file.
    public var file: String
    /// The line, counted from 1.
    public var line: Int?
    /// The affected server, if any.
    public var server: String?
    /// The reason, and what to do about it.
    public var reason: String

    public init(file: String, line: Int?, server: String?, reason: String) {
        self.file = file
        self.line = line
        self.server = server
        self.reason = reason
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var file: String?
        var line: Int?
        var server: String?
        var reason: String?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "file": file = try reader.visibleText()
            case "line": line = try Int?(from: &reader)
            case "server": server = try reader.visibleTextIfAny()
            case "reason": reason = try reader.visibleText()
            default: try reader.skip()
            }
        }
        guard let file else { throw .missingMember("file") }
        guard let reason else { throw .missingMember("reason") }
        self.init(file: file, line: line, server: server, reason: reason)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("file", file)
            writer.member("line", line)
            writer.member("server", server)
            writer.member("reason", reason)
        }
    }

    public var description: String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(server.map { "server \($0): " } ?? "")\(reason)"
    }
}
