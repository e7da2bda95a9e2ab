// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

// Enumerations are written as their raw values.
extension Level: JSONEnumeration {}
extension Phase: JSONEnumeration {}
extension EventKind: JSONEnumeration {}
extension ChangeKind: JSONEnumeration {}
extension HostState: JSONEnumeration {}

extension Timestamp: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        guard let time = Timestamp(try reader.string()) else { throw reader.error(.type(expected: "RFC 3339")) }
        self = time
    }

    public func write(to writer: inout JSONWriter) { writer.plainString(length: Timestamp.length) { write(to: $0) } }
}

extension ServerName: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        guard let name = ServerName(try reader.string()) else { throw reader.error(.type(expected: "server name")) }
        self = name
    }

    public func write(to writer: inout JSONWriter) { writer.plainString(rawValue) }
}

extension Epoch: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) { self.init(try reader.string()) }

    public func write(to writer: inout JSONWriter) { writer.plainString(length: Epoch.length) { write(to: $0) } }
}

extension Cursor: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        var epoch: Epoch?
        var revision: Int?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "epoch": epoch = try Epoch(from: &reader)
            case "revision": revision = try reader.integer()
            default: try reader.unknownMember(name)
            }
        }
        guard let epoch else { throw .missingMember("epoch") }
        guard let revision else { throw .missingMember("revision") }
        self.init(epoch: epoch, revision: revision)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("epoch", epoch)
            writer.member("revision", revision)
        }
    }
}

/// An encoded time, so that equal times are encoded only once.
private struct EncodedTime: JSONWritable {
    private let time: Timestamp
    /// The 24 characters of the time.
    private var text: (UInt64, UInt64, UInt64) = (0, 0, 0)

    @inline(__always)
    init(_ time: Timestamp) {
        precondition(Timestamp.length == MemoryLayout<(UInt64, UInt64, UInt64)>.size)
        self.time = time
        withUnsafeMutableBytes(of: &text) { bytes in
            if let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress { time.write(to: start) }
        }
    }

    /// Returns this value if `other` is the same time; otherwise encodes `other`.
    @inline(__always)
    func or(_ other: Timestamp) -> EncodedTime { other == time ? self : EncodedTime(other) }

    @inline(__always)
    func write(to writer: inout JSONWriter) {
        writer.plainString(length: Timestamp.length) { start in
            UnsafeMutableRawPointer(start).storeBytes(of: text, as: (UInt64, UInt64, UInt64).self)
        }
    }
}

extension Status: JSONReadable, JSONWritable {
    // Unknown members are ignored, so that clients understand newer daemons.
    public init(from reader: inout JSONReader) throws(JSONError) {
        var text: StatusText?
        var level: Level?
        var changedAt: Timestamp?
        var levelChangedAt: Timestamp?
        var updatedAt: Timestamp?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            // Escape it again, because the peer may not be statusd.
            case "text": text = StatusText(fitting: try reader.string())
            case "level": level = try Level(from: &reader)
            case "changedAt": changedAt = try Timestamp(from: &reader)
            case "levelChangedAt": levelChangedAt = try Timestamp?(from: &reader)
            case "updatedAt": updatedAt = try Timestamp(from: &reader)
            default: try reader.skip()
            }
        }
        guard let text else { throw .missingMember("text") }
        guard let level else { throw .missingMember("level") }
        guard let changedAt else { throw .missingMember("changedAt") }
        guard let updatedAt else { throw .missingMember("updatedAt") }
        self.init(
            text: text, level: level, changedAt: changedAt, levelChangedAt: levelChangedAt, updatedAt: updatedAt)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("text", text.rawValue)
            writer.member("level", level)
            let changed = EncodedTime(changedAt)
            writer.member("changedAt", changed)
            writer.member("levelChangedAt", changed.or(levelChangedAt))
            writer.member("updatedAt", changed.or(updatedAt))
        }
    }
}

extension MeasuredValue: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init("", 0)
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "name": name = try reader.visibleText()
            case "value": value = try Double(from: &reader)
            case "unit": unit = try reader.visibleText()
            case "warning": warning = try Double?(from: &reader)
            case "critical": critical = try Double?(from: &reader)
            default: try reader.skip()
            }
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("value", value)
            writer.member("unit", unit)
            writer.member("warning", warning)
            writer.member("critical", critical)
        }
    }
}

extension Event: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        var kind: EventKind?
        var cursor: Cursor?
        var server: ServerState?
        var servers: [ServerState]?
        var continues: Bool?
        var missed: Int?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "kind": kind = try EventKind(from: &reader)
            case "cursor": cursor = try Cursor(from: &reader)
            case "server": server = try ServerState?(from: &reader)
            case "servers": servers = try [ServerState]?(from: &reader)
            case "continues": continues = try Bool?(from: &reader)
            case "missed": missed = try Int?(from: &reader)
            default: try reader.skip()
            }
        }
        guard let kind else { throw .missingMember("kind") }
        guard let cursor else { throw .missingMember("cursor") }
        self.init(
            kind: kind, cursor: cursor, server: server, servers: servers, continues: continues ?? false, missed: missed)
    }

    public func write(to writer: inout JSONWriter) { writer.object { writeMembers(to: &$0) } }

    /// Writes the members of the object, to which more may be added.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind)
        writer.member("cursor", cursor)
        if let snapshot { writer.member("server", snapshot.state) }
        writer.member("servers", servers)
        if continues { writer.member("continues", true) }
        writer.member("missed", missed)
    }
}

/// Reads values from a peer that may not be statusd.
///
/// No value may crash a client or make it use much memory.
extension JSONReader {
    /// The maximum length of a text that is kept, in bytes; statusd's texts are shorter.
    private static let longestText = 4096
    /// The maximum number of milliseconds or changes: 35,000 years, small enough to sum up a thousand buckets.
    private static let largestAmount = 1 << 50

    /// Reads a text for people and escapes controls; a text that is too long is cut and ends in `…`.
    mutating func visibleText() throws(JSONError) -> String {
        VisibleText.excerpt(try string(), bytes: Self.longestText)
    }

    /// Reads a text for people, or null.
    mutating func visibleTextIfAny() throws(JSONError) -> String? { try isNull() ? nil : try visibleText() }

    /// Reads milliseconds, or a number of changes.
    mutating func amount() throws(JSONError) -> Int {
        let number = try integer()
        guard 0...Self.largestAmount ~= number else { throw JSONError(.number) }
        return number
    }
}
