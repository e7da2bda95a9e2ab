// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

extension Event: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        var kind: EventKind?
        var cursor: Cursor?
        var server: ServerState?
        var servers: [ServerState]?
        var missed: Int?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "kind": kind = try EventKind(from: &reader)
            case "cursor": cursor = try Cursor(from: &reader)
            case "server": server = try ServerState?(from: &reader)
            case "servers": servers = try [ServerState]?(from: &reader)
            case "missed": missed = try Int?(from: &reader)
            default: try reader.skip()
            }
        }
        guard let kind else { throw .missingMember("kind") }
        guard let cursor else { throw .missingMember("cursor") }
        self.init(kind: kind, cursor: cursor, server: server, servers: servers, missed: missed)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("kind", kind)
            writer.member("cursor", cursor)
            if let snapshot { writer.member("server", snapshot.state) }
            writer.member("servers", servers)
            writer.member("missed", missed)
        }
    }
}
