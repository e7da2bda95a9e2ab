// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

// Enumerations are written as their raw values.
extension Level: JSONEnumeration {}
extension Phase: JSONEnumeration {}
extension EventKind: JSONEnumeration {}
extension ChangeKind: JSONEnumeration {}

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

/// The encoded form of a time, so that equal times are encoded once.
private struct EncodedTime: JSONWritable {
    private let time: Timestamp
    /// The characters of the time.
    private var text: (UInt64, UInt64, UInt64) = (0, 0, 0)

    @inline(__always)
    init(_ time: Timestamp) {
        precondition(Timestamp.length == MemoryLayout<(UInt64, UInt64, UInt64)>.size)
        self.time = time
        withUnsafeMutableBytes(of: &text) { bytes in
            if let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress { time.write(to: start) }
        }
    }

    /// This one if `other` is the same time; otherwise the encoded `other`.
    @inline(__always)
    func or(_ other: Timestamp) -> EncodedTime { other == time ? self : EncodedTime(other) }

    @inline(__always)
    func write(to writer: inout JSONWriter) {
        writer.plainString(length: Timestamp.length) { place in
            UnsafeMutableRawPointer(place).storeBytes(of: text, as: (UInt64, UInt64, UInt64).self)
        }
    }
}

extension Status: JSONReadable, JSONWritable {
    // Unknown members are ignored, so that a client understands newer daemons.
    public init(from reader: inout JSONReader) throws(JSONError) {
        var text: StatusText?
        var level: Level?
        var changedAt: Timestamp?
        var levelChangedAt: Timestamp?
        var updatedAt: Timestamp?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            // Escaped again, because the peer may not be statusd.
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
