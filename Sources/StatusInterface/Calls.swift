// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

/// The parameters of `Describe`, `Select` and `Refresh`: a server, or none.
public struct ServerParameters: JSONReadable, Sendable {
    /// The server's name as the caller wrote it, which may be none; nil where the caller named none.
    public var server: String?

    public init(from reader: inout JSONReader) throws(JSONError) {
        var server: String?
        try reader.object { name, reader throws(JSONError) in
            guard name == "server" else { throw .unknownMember(name) }
            server = try String?(from: &reader)
        }
        self.server = server
    }
}

/// The parameters of `Reload`.
public struct ReloadParameters: JSONReadable, Sendable {
    /// Whether to tell only what would change.
    public var dryRun = false

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in
            guard name == "dryRun" else { throw .unknownMember(name) }
            dryRun = try Bool?(from: &reader) ?? false
        }
    }
}

/// The parameters of `List`: none.
public struct NoParameters: JSONReadable, Sendable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, _ throws(JSONError) in throw .unknownMember(name) }
    }
}

/// The parameters of `Watch`.
public struct WatchParameters: JSONReadable, Sendable {
    /// The server to follow; nil for the selected one.
    public var server: String?
    /// Whether to follow all.
    public var all: Bool?
    /// Whether to be told, too, what was posted again unchanged.
    public var updates: Bool?
    /// Where to go on.
    public var since: Cursor?

    /// Parameters with what belongs to them.
    public init(server: String? = nil, all: Bool? = nil, updates: Bool? = nil, since: Cursor? = nil) {
        self.server = server
        self.all = all
        self.updates = updates
        self.since = since
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var parameters = WatchParameters()
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "server": parameters.server = try String?(from: &reader)
            case "all": parameters.all = try Bool?(from: &reader)
            case "updates": parameters.updates = try Bool?(from: &reader)
            case "since": parameters.since = try Cursor?(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        self = parameters
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("all", all)
        writer.member("updates", updates)
        writer.member("since", since)
    }
}

/// The parameters of `Post`.
public struct PostParameters: JSONReadable, Sendable {
    /// Whose status it is.
    public var server: ServerName
    /// What it says, as it was sent.
    public var text: String
    /// How serious it is; nil means ok.
    public var level: Level?

    public init(from reader: inout JSONReader) throws(JSONError) {
        var server: ServerName?
        var text: String?
        var level: Level?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "server": server = try ServerName(from: &reader)
            case "text": text = try reader.string()
            case "level": level = try Level?(from: &reader)
            default: throw .unknownMember(name)
            }
        }
        guard let server else { throw .missingMember("server") }
        guard let text else { throw .missingMember("text") }
        self.server = server
        self.text = text
        self.level = level
    }
}

/// The parameters of `Wait`.
public struct WaitParameters: JSONReadable, Sendable {
    /// The server, which need not exist yet.
    public var server: ServerName
    /// The level to wait for.
    public var level: Level?
    /// The text to wait for; with a level, whichever comes first.
    public var text: String?
    /// For how long; nil: for ever.
    public var timeout: Duration?

    /// Parameters with what belongs to them.
    public init(server: ServerName, level: Level? = nil, text: String? = nil, timeout: Duration? = nil) {
        self.server = server
        self.level = level
        self.text = text
        self.timeout = timeout
    }

    public init(from reader: inout JSONReader) throws(JSONError) {
        var server: ServerName?
        var level: Level?
        var text: String?
        var milliseconds: Int?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "server": server = try ServerName(from: &reader)
            case "level": level = try Level?(from: &reader)
            case "text":
                text = try String?(from: &reader)
                // Nothing ever has a text that is none.
                if let text, (try? StatusText(text)) == nil { throw reader.error(.type(expected: "text")) }
            case "timeoutMilliseconds":
                milliseconds = try Int?(from: &reader)
                if let milliseconds, milliseconds < 0 { throw reader.error(.type(expected: "time")) }
            default: throw .unknownMember(name)
            }
        }
        guard let server else { throw .missingMember("server") }
        guard level != nil || text != nil else { throw .missingMember("level") }
        self.init(server: server, level: level, text: text, timeout: milliseconds.map { .milliseconds($0) })
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("level", level)
        writer.member("text", text)
        writer.member("timeoutMilliseconds", timeout.map { Int($0 / .milliseconds(1)) })
    }
}
