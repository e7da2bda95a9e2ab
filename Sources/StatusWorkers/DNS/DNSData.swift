// SPDX-License-Identifier: Apache-2.0

import CResolver
import Glibc
import SourceKinds
import StatusSupport

/// Reads the data of one record from its beginning.
struct DNSData {
    private let message: ns_msg
    private var rest: UnsafeBufferPointer<UInt8>

    init(_ record: resolver_record, in message: ns_msg) {
        self.message = message
        rest = UnsafeBufferPointer(start: record.data, count: record.data == nil ? 0 : record.length)
    }

    /// The data as a text; nil if they are not what the type has, or if something follows.
    mutating func text(of type: DNSSettings.RecordType) -> String? {
        let text = fields(of: type)
        return rest.isEmpty ? text : nil
    }

    private mutating func fields(of type: DNSSettings.RecordType) -> String? {
        switch type {
        case .a: return address(AF_INET, 4)
        case .aaaa: return address(AF_INET6, 16)
        case .cname, .ns, .ptr: return name()
        case .txt: return strings()
        case .mx:
            guard let preference = number(2), let host = name() else { return nil }
            return "\(preference) \(host)"
        case .srv:
            guard let priority = number(2), let weight = number(2), let port = number(2), let host = name() else {
                return nil
            }
            return "\(priority) \(weight) \(port) \(host)"
        case .soa:
            guard let server = name(), let mailbox = name() else { return nil }
            let numbers = (0..<5).compactMap { _ in number(4).map { "\($0)" } }
            return numbers.count == 5 ? ([server, mailbox] + numbers).joined(separator: " ") : nil
        }
    }

    private mutating func take(_ count: Int) -> UnsafeBufferPointer<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = UnsafeBufferPointer(rebasing: rest.dropFirst(count)) }
        return UnsafeBufferPointer(rebasing: rest.prefix(count))
    }

    private mutating func number(_ count: Int) -> UInt32? { take(count)?.reduce(0) { $0 << 8 | UInt32($1) } }

    private mutating func address(_ family: Int32, _ count: Int) -> String? {
        guard let bytes = take(count) else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes.baseAddress, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A name, without the final dot; the root is a dot.
    private mutating func name() -> String? {
        guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
        var text = [CChar](repeating: 0, count: Int(NS_MAXDNAME))
        let length = withUnsafePointer(to: message) { resolver_expand($0, start, &text) }
        guard length > 0, take(Int(length)) != nil else { return nil }
        let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name == "." ? name : name.asDNSName
    }

    /// Strings of up to 255 bytes, which together are one text.
    private mutating func strings() -> String? {
        var text: [UInt8] = []
        while !rest.isEmpty {
            guard let count = number(1), let part = take(Int(count)) else { return nil }
            text += part
        }
        return StreamSafeText.text(String(decoding: text, as: UTF8.self))
    }
}
