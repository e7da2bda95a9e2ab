// SPDX-License-Identifier: Apache-2.0

import CResolver
import Glibc
public import SourceKinds

/// A question about one name and one type, as a message with a random ID (RFC 1035, section 4).
public struct DNSQuestion: Sendable {
    /// The name that is asked for; for an address, the one below `in-addr.arpa` or `ip6.arpa`.
    public let name: String
    public let type: DNSSettings.RecordType
    /// The message.
    public let bytes: [UInt8]

    public init(_ settings: DNSSettings, id: UInt16 = .random(in: 0...UInt16.max)) {
        (name, type) = (Self.reverse(settings.name) ?? settings.name, settings.type)
        // Recursion is desired, as in the questions of programs.
        var bytes = [UInt8(id >> 8), UInt8(id & 0xFF), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        for label in name.utf8.split(separator: UInt8(ascii: ".")) { bytes += [UInt8(label.count)] + label }
        self.bytes = bytes + [0, 0, UInt8(type.number), 0, 1]
    }

    /// Whether a message has the ID of the question and is an answer; everything else is not known yet.
    func isAnswered(by message: some Collection<UInt8>) -> Bool {
        message.count >= 12 && message.prefix(2).elementsEqual(bytes.prefix(2))
            && message.dropFirst(2).first.map { $0 & 0x80 != 0 } == true
    }

    /// The name whose `PTR` records are those of an address; nil for a name.
    private static func reverse(_ text: String) -> String? {
        var address = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &address) == 1 {
            return address[..<4].reversed().map { "\($0)" }.joined(separator: ".") + ".in-addr.arpa"
        }
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let digits = address.reversed().flatMap { [$0 & 15, $0 >> 4] }
        return digits.map { String($0, radix: 16) }.joined(separator: ".") + ".ip6.arpa"
    }
}

extension DNSSettings.RecordType {
    /// The number in messages.
    var number: UInt16 {
        let type: ns_type =
            switch self {
            case .a: ns_t_a
            case .aaaa: ns_t_aaaa
            case .cname: ns_t_cname
            case .mx: ns_t_mx
            case .ns: ns_t_ns
            case .ptr: ns_t_ptr
            case .soa: ns_t_soa
            case .srv: ns_t_srv
            case .txt: ns_t_txt
            }
        return UInt16(type.rawValue)
    }
}
