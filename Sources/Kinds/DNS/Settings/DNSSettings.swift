// SPDX-License-Identifier: Apache-2.0

import Glibc
public import YAML

/// `dns: name`, `dns: { name: …, type: AAAA, server: 9.9.9.9, expect: […], slow: 50ms }`: a question to a name server.
public struct DNSSettings: SourceSettings {
    public static let key = "dns"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["name", "type", "server", "expect", "slow"]

    /// The types of records; the raw values are their names.
    public enum RecordType: String, Sendable, CaseIterable {
        case a = "A"
        case aaaa = "AAAA"
        case cname = "CNAME"
        case mx = "MX"
        case ns = "NS"
        case ptr = "PTR"
        case soa = "SOA"
        case srv = "SRV"
        case txt = "TXT"
    }

    /// The file with the name servers of this host.
    public static let resolverFile = "/etc/resolv.conf"

    /// The name, without a final dot; for `PTR` also an address.
    public var name: String
    public var type = RecordType.a
    /// The address of the name server; nil for those of this host.
    public var server: String?
    public var port: UInt16 = 53
    /// The answers, in any order; empty if any answer is ok.
    public var expected: [String] = []
    /// The time from which on the level is warning; nil for none.
    public var slow: Duration?

    public init(name: String) { self.name = name }

    public var subjectParts: [String] {
        let slow = slow.map { ["slow", "\(Int($0 / .milliseconds(1)))"] } ?? []
        return [name, type.rawValue, server ?? "", String(port)] + expected + slow
    }

    public var requirements: [SourceRequirement] { server == nil ? [.readableFile(Self.resolverFile)] : [] }
}

extension DNSSettings {
    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> DNSSettings? {
        let nodes = reader.nodes
        var settings = DNSSettings(name: "")
        if node.mapping == nil {
            settings.name = try nodes.string(node, of: key, nameRule)
        } else {
            try reader.readMapping(
                node, of: key, keys: keys, example: "example.org"
            ) { key, value, reader throws(Problem) in try settings.read(key, value, reader.nodes) }
        }
        if settings.name.count > 1, settings.name.hasSuffix(".") { settings.name.removeLast() }
        let isReverse = settings.type == .ptr && isAddress(settings.name)
        guard isReverse || isName(settings.name) else {
            throw nodes.problem(at: node, "the name of “dns” must be \(nameRule)")
        }
        guard isReverse || !isAddress(settings.name) else {
            throw nodes.problem(
                at: node, "the name of “dns” is an address; add “type: PTR” to look up the name of this address")
        }
        try settings.checkExpected(at: node, nodes)
        return settings
    }

    private static let nameRule =
        "a domain name in ASCII of at most 253 characters, such as example.org (write others as xn--…, see idn2(1))"

    private mutating func read(_ key: String, _ value: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        switch key {
        case "name": name = try nodes.string(value, of: key, Self.nameRule)
        case "type":
            guard let type = RecordType(rawValue: value.string ?? "") else {
                let known = RecordType.allCases.map(\.rawValue).joined(separator: ", ")
                throw nodes.problem(at: value, "“type” must be one of \(known)")
            }
            self.type = type
        case "server":
            let text = value.string ?? ""
            let bare = HostAndPort.host(text).map { (host: $0, port: UInt16?.none) }
            guard let address = bare ?? HostAndPort(text).map({ ($0.host, $0.port) }), Self.isAddress(address.host)
            else {
                throw nodes.problem(
                    at: value,
                    "“server” must be the address of a name server, such as 9.9.9.9, 127.0.0.1:5353 or [::1]:5353")
            }
            (server, port) = (address.host, address.port ?? 53)
        case "expect":
            expected =
                value.sequence == nil
                ? [try nodes.string(value, of: key, "an answer or a list of answers")]
                : try nodes.strings(value, of: key, "an answer or a list of answers")
            if expected.isEmpty { throw nodes.problem(at: value, "“expect” must have at least one answer") }
        case "slow": slow = try nodes.slow(value)
        default: break
        }
    }

    private func checkExpected(at node: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        let family: (number: Int32, example: String)? =
            type == .a ? (AF_INET, "IPv4 addresses") : type == .aaaa ? (AF_INET6, "IPv6 addresses") : nil
        if let family, !expected.allSatisfy({ Self.isAddress($0, of: [family.number]) }) {
            throw nodes.problem(at: node, "“expect” must have \(family.example), because the type is \(type.rawValue)")
        }
        guard expected.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumBytes else {
            throw nodes.problem(at: node, "“expect” must not have more than \(Self.maximumBytes / 1024) KiB of text")
        }
    }

    /// The maximum length of the expected answers in bytes, which is more than a message can have.
    private static let maximumBytes = 64 * 1024

    /// Whether a text is an address; an IPv6 address may have a zone.
    public static func isAddress(_ text: String, of families: [Int32] = []) -> Bool {
        var bytes = in6_addr()
        return (families.isEmpty ? [AF_INET, AF_INET6] : families).contains {
            inet_pton($0, $0 == AF_INET6 ? text.withoutZone : text, &bytes) == 1
        }
    }

    private static func isName(_ text: String) -> Bool {
        text == "."
            || text.utf8.count <= 253
                && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                    (1...63).contains(label.utf8.count)
                        && label.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\\\"();@$/:".utf8.contains($0) }
                }
    }
}

extension String {
    fileprivate var withoutZone: String { firstIndex(of: "%").map { String(self[..<$0]) } ?? self }
}
