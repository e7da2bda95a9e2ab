// SPDX-License-Identifier: Apache-2.0

import CSystemd
import EventLoopIO
import Glibc
public import Logging

/// How metadata keys become the names of journal fields.
public struct JournalFieldNames: Sendable {
    /// The key for the `MESSAGE_ID` of a kind of message.
    public static let messageID = "message-id"

    private static let maximumLength = 64

    private let prefix: String
    private let exact: Set<String>

    /// Keys in `exact` become fields of the same name (`server` becomes `SERVER`); others get the prefix (`old-text`
    /// becomes `STATUSD_OLD_TEXT`).
    ///
    /// - Parameters:
    ///   - prefix: a valid beginning of a name, such as `STATUSD_`; it is used unchanged.
    ///   - exact: the keys without a prefix.
    public init(prefix: String, exact: Set<String> = []) {
        self.prefix = prefix
        self.exact = exact
    }

    /// Returns the valid field name for a key; nil if nothing is left of prefix and key without leading digits and
    /// underscores, which are reserved for journald.
    ///
    /// journald silently drops a field with an invalid name. A valid one has at most 64 of `[A-Z0-9_]`.
    public func name(for key: String) -> String? {
        if key == Self.messageID { return "MESSAGE_ID" }
        var name = exact.contains(key) ? [] : Array(prefix.utf8)
        for byte in key.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): name.append(byte - 0x20)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): name.append(byte)
            default: name.append(UInt8(ascii: "_"))
            }
        }
        let valid = name.drop { $0 == UInt8(ascii: "_") || ($0 >= 0x30 && $0 <= 0x39) }
        return valid.isEmpty ? nil : String(decoding: valid.prefix(Self.maximumLength), as: UTF8.self)
    }
}

/// Writes log messages to the journal, with a field for each piece of metadata (systemd.journal-fields(7)).
public struct JournalLogHandler: LogHandler {
    public var logLevel: Logger.Level = .info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let identifier: String
    private let names: JournalFieldNames
    /// Writes messages that the journal does not accept.
    private let fallback: TextLogHandler

    /// Creates a handler for the logger `label`.
    ///
    /// - Parameters:
    ///   - label: the logger's label, as the field `LOGGER`.
    ///   - identifier: the program, as `SYSLOG_IDENTIFIER`.
    ///   - names: how metadata keys become fields.
    public init(label: String, identifier: String, names: JournalFieldNames) {
        self.label = label
        self.identifier = identifier
        self.names = names
        fallback = TextLogHandler(identifier: identifier)
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let metadata = event.merged(with: metadata, metadataProvider)
        let fields = fields(of: event, metadata)
        let message = Journal.Message {
            Self.sendNow(fields)
        } write: { [fallback] in
            if !Self.send(fields) { fallback.write(event, metadata) }
        }
        Journal.outbox.post(message, size: fields.bytes.count)
    }

    func fields(of event: LogEvent, _ metadata: Logger.Metadata) -> JournalFields {
        var fields = JournalFields()
        fields.append("MESSAGE", event.message.description)
        fields.append("PRIORITY", String(event.level.syslogPriority))
        fields.append("SYSLOG_IDENTIFIER", identifier)
        fields.append("LOGGER", label)
        fields.append("CODE_FILE", event.file)
        fields.append("CODE_LINE", String(event.line))
        fields.append("CODE_FUNC", event.function)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            if let name = names.name(for: key) { fields.append(name, value.description) }
        }
        return fields
    }

    private static let sender = try? UnixSocket.makeSender()

    /// Sends the fields without waiting, which sd_journal_sendv(3) cannot do; returns whether that was possible.
    private static func sendNow(_ fields: JournalFields) -> Bool {
        (try? UnixSocket.send(fields.datagram, to: .path("/run/systemd/journal/socket"), from: sender)) != nil
    }

    /// Sends the fields, even if they are too long for a datagram; waits while the socket is full.
    private static func send(_ fields: JournalFields) -> Bool {
        var bytes = fields.bytes
        let ranges = fields.ranges
        return bytes.withUnsafeMutableBytes { buffer in
            let vectors = ranges.map { range in
                iovec(iov_base: buffer.baseAddress?.advanced(by: range.lowerBound), iov_len: range.count)
            }
            return sd_journal_sendv(vectors, Int32(vectors.count)) >= 0
        }
    }
}

/// The fields of one journal entry.
struct JournalFields {
    /// The entry's `NAME=value` strings, one after the other.
    private(set) var bytes: [UInt8] = []
    /// The range of each of them in `bytes`.
    private(set) var ranges: [Range<Int>] = []

    /// Appends a field whose name is known to be valid.
    mutating func append(_ name: String, _ value: String) {
        let start = bytes.count
        bytes += name.utf8
        bytes.append(UInt8(ascii: "="))
        bytes += value.utf8
        ranges.append(start..<bytes.count)
    }

    /// The entry in the journal's native protocol (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>).
    var datagram: [UInt8] {
        var datagram: [UInt8] = []
        let newline = UInt8(ascii: "\n")
        for range in ranges {
            let field = bytes[range]
            if field.contains(newline), let sign = field.firstIndex(of: UInt8(ascii: "=")) {
                let value = field[(sign + 1)...]
                datagram += field[..<sign]
                datagram.append(newline)
                withUnsafeBytes(of: UInt64(value.count).littleEndian) { datagram += $0 }
                datagram += value
            } else {
                datagram += field
            }
            datagram.append(newline)
        }
        return datagram
    }
}

extension Logger.Level {
    /// The priority of syslog(3).
    var syslogPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

extension LogEvent {
    /// Merges all metadata of an event.
    ///
    /// The metadata nearest to the call wins.
    func merged(with metadata: Logger.Metadata, _ provider: Logger.MetadataProvider?) -> Logger.Metadata {
        var merged = metadata
        if let provided = provider?.get() { merged.merge(provided) { $1 } }
        if let own = self.metadata { merged.merge(own) { $1 } }
        if let error { merged["error"] = "\(error)" }
        return merged
    }
}
