// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

/// The reply of `List`.
public struct ListReply: JSONReadable, Sendable {
    /// All servers, by name.
    public var servers: [ServerState]

    public init(from reader: inout JSONReader) throws(JSONError) {
        var servers: [ServerState]?
        try reader.object { name, reader throws(JSONError) in
            if name == "servers" { servers = try [ServerState](from: &reader) } else { try reader.skip() }
        }
        guard let servers else { throw .missingMember("servers") }
        self.servers = servers
    }
}

/// The reply of `Forget`, which says nothing, or one of which nothing is needed.
struct NoReply: JSONReadable, Sendable {
    init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { _, reader throws(JSONError) in try reader.skip() }
    }
}

/// The reply of `Describe` and `Wait`.
public struct DescribeReply: JSONReadable, Sendable {
    /// The server.
    public var server: ServerState

    public init(from reader: inout JSONReader) throws(JSONError) {
        var server: ServerState?
        try reader.object { name, reader throws(JSONError) in
            if name == "server" { server = try ServerState(from: &reader) } else { try reader.skip() }
        }
        guard let server else { throw .missingMember("server") }
        self.server = server
    }
}

/// The reply of `Select`.
public struct SelectReply: JSONReadable, JSONWritable, Sendable {
    /// The server that is selected now, with all of its state.
    public var server: ServerState?
    /// The name of the one that was selected before.
    public var previous: String?
    /// Whether the selection moved.
    public var changed: Bool
    /// The place behind the change.
    public var cursor: Cursor

    /// A reply with what belongs to it.
    public init(server: ServerState?, previous: String?, changed: Bool, cursor: Cursor) {
        self.server = server
        self.previous = previous
        self.changed = changed
        self.cursor = cursor
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var server: ServerState?
        var previous: String?
        var changed: Bool?
        var cursor: Cursor?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "server": server = try ServerState?(from: &reader)
            case "previous": previous = try String?(from: &reader)
            case "changed": changed = try reader.boolean()
            case "cursor": cursor = try Cursor(from: &reader)
            default: try reader.skip()
            }
        }
        guard let changed else { throw .missingMember("changed") }
        guard let cursor else { throw .missingMember("cursor") }
        self.init(server: server, previous: previous, changed: changed, cursor: cursor)
    }

    public func write(to writer: inout JSONWriter) { writer.object(writeMembers) }

    /// Writes the members of the reply's parameters.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("previous", previous)
        writer.member("changed", changed)
        writer.member("cursor", cursor)
    }
}

/// The reply of `Watch` and `Refresh`.
public struct EventReply: JSONReadable, Sendable {
    /// The event.
    public var event: Event

    public init(from reader: inout JSONReader) throws(JSONError) {
        var event: Event?
        try reader.object { name, reader throws(JSONError) in
            if name == "event" { event = try Event(from: &reader) } else { try reader.skip() }
        }
        guard let event else { throw .missingMember("event") }
        self.event = event
    }
}

/// The reply of `Post`.
public struct PostReply: JSONReadable, Sendable {
    /// The revision of the event.
    public var revision: Int

    public init(from reader: inout JSONReader) throws(JSONError) {
        var revision: Int?
        try reader.object { name, reader throws(JSONError) in
            if name == "revision" { revision = try reader.integer() } else { try reader.skip() }
        }
        guard let revision else { throw .missingMember("revision") }
        self.revision = revision
    }
}
