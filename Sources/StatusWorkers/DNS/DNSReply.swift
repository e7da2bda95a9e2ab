// SPDX-License-Identifier: Apache-2.0

import CResolver
import Glibc
import SourceKinds

/// What a name server replied to a question.
///
/// glibc's resolver library reads the message. It is a part of libc6, and every lookup of every program relies on it.
/// Its `res_nsend` is not used: it tells a failure of the server only as an errno, and waits for slow TCP without
/// limit.
public struct DNSReply: Sendable, Equatable {
    /// The response code (RFC 1035, section 4.1.1); 0 for no error.
    public var code: Int
    /// The answers of the type that was asked for, in order, as in master files; names are in lower case.
    public var answers: [String] = []
    /// The name that the last alias (CNAME) of the name leads to; nil without an alias.
    public var alias: String?
    /// The seconds for which all of this may be kept.
    public var lifetime = 0
    /// Whether the server knows nothing and names other servers.
    public var isReferral = false

    /// The maximum number of aliases to follow.
    private static let maximumAliases = 16

    /// Reads a message; nil if it is no answer to the question, or is invalid.
    public init?(_ message: [UInt8], to question: DNSQuestion) {
        guard question.isAnswered(by: message) else { return nil }
        let read: DNSReply? = message.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var handle = ns_msg()
            guard ns_initparse(base, Int32(bytes.count), &handle) == 0 else { return nil }
            return DNSReply(&handle, flags: (message[2], message[3]), question)
        }
        guard let read else { return nil }
        self = read
    }

    private init?(_ message: inout ns_msg, flags: (UInt8, UInt8), _ question: DNSQuestion) {
        code = Int(flags.1 & 0x0F)
        var record = resolver_record()
        let asked = question.name == "." ? "" : question.name.lowercased()
        guard resolver_read(&message, 0, 0, &record), record.owner == asked,
            record.type == question.type.number, record.class == UInt16(ns_c_in.rawValue)
        else { return nil }
        guard let records = Self.records(in: &message) else { return nil }
        var (name, lifetime): (String, UInt32?) = (asked, nil)
        func note(_ seconds: UInt32) {
            // A lifetime with the highest bit means 0 (RFC 2181, section 8).
            let seconds = seconds > UInt32(Int32.max) ? 0 : seconds
            lifetime = min(lifetime ?? seconds, seconds)
        }
        if question.type != .cname {
            for _ in 0..<Self.maximumAliases {
                let found = records.first { $0.owner == name && $0.type == .cname }
                guard let found else { break }
                (name, alias) = (found.text, found.text)
                note(found.lifetime)
            }
        }
        for found in records where found.owner == name && found.type == question.type {
            answers.append(found.text)
            note(found.lifetime)
        }
        self.lifetime = Int(lifetime ?? 0)
        let (isAuthoritative, isRecursive) = (flags.0 & 0x04 != 0, flags.1 & 0x80 != 0)
        isReferral = code == 0 && answers.isEmpty && !isAuthoritative && !isRecursive
    }

    /// A record of the answer.
    private typealias Found = (owner: String, type: DNSSettings.RecordType, text: String, lifetime: UInt32)

    /// Reads the records of known types in the answer; nil if one is invalid.
    private static func records(in message: inout ns_msg) -> [Found]? {
        var found: [Found] = []
        var record = resolver_record()
        for number in 0..<Int32(message._counts.1) {
            guard resolver_read(&message, 1, number, &record) else { return nil }
            guard record.class == UInt16(ns_c_in.rawValue),
                let type = DNSSettings.RecordType.allCases.first(where: { $0.number == record.type })
            else { continue }
            var data = DNSData(record, in: message)
            guard let text = data.text(of: type) else { return nil }
            found.append((record.owner, type, text, record.ttl))
        }
        return found
    }
}

extension resolver_record {
    /// The name of the record in lower case, without the final dot; empty for the root.
    fileprivate var owner: String {
        withUnsafeBytes(of: name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }.asDNSName
    }
}

extension String {
    /// A name as it is compared: in lower case, without the final dot.
    var asDNSName: String {
        let text = lowercased()
        return text.hasSuffix(".") && !text.hasSuffix("\\.") ? String(text.dropLast()) : text
    }
}
