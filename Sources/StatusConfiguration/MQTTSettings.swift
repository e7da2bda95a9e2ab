// SPDX-License-Identifier: Apache-2.0

import Glibc
public import StatusModel

/// What statusd-mqtt publishes at a broker, and what it follows there.
public struct MQTTSettings: Equatable, Sendable {
    public enum Discovery: String, Sendable, CaseIterable { case homeassistant }

    /// The brokers, of which one is used at a time.
    public var brokers: [MQTTBroker]
    /// The name of this host in topics; nil for the host's own name.
    public var host: String?
    /// The servers to publish, by names or patterns (fnmatch(3)); empty for none.
    public var publish = ["*"]
    /// The servers of other hosts that this host shows; empty for none.
    public var follow: [FollowPattern] = []
    /// The user at the broker; nil for none.
    public var user: String?
    /// The program whose discovery gets a message about this host; nil for none.
    public var discovery: Discovery?

    public init(brokers: [MQTTBroker]) { self.brokers = brokers }

    /// The name of this host in topics; nil if the host's own name cannot be one.
    public var hostName: ServerName? {
        if let host { return ServerName(host) }
        var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Self.isHost(text) ? ServerName(text) : nil
    }

    /// The rule for names of hosts, for messages.
    public static let hostRule =
        "must start with a letter or digit, followed by at most 62 of A-Z a-z 0-9 . _ -"

    /// Whether a name of a host is valid: it is also one of a server, and leaves room for the `@` before it.
    public static func isHost(_ name: String) -> Bool {
        ServerName(name) != nil && name.utf8.count < ServerName.maximumLength
            && !name.utf8.contains(UInt8(ascii: "@")) && !name.utf8.contains(UInt8(ascii: ":"))
    }

    /// Whether a pattern can match a name: it has only characters of names, and those of fnmatch(3).
    static func isPattern(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= 255
            && text.utf8.allSatisfy { byte in
                ServerName("a" + String(decoding: [byte], as: UTF8.self)) != nil || "*?[]!^".utf8.contains(byte)
            }
    }
}

/// The address of a broker: `mqtt://HOST[:PORT]`, or `mqtts://` for TLS.
public struct MQTTBroker: Hashable, Sendable, CustomStringConvertible {
    /// A name or an address, without brackets.
    public let host: String
    public let port: UInt16
    public let usesTLS: Bool

    /// Why a text is no address of a broker.
    struct Invalid: Error { let reason: String }

    private static let rule =
        "must be the URL of a broker such as mqtts://mq1.example:8883 or mqtt://127.0.0.1, with a port from 1 to 65535"

    /// Reads a URL; nil if it is invalid.
    public init?(_ text: String) { do throws(Invalid) { try self.init(reading: text) } catch { return nil } }

    /// Reads a URL; the error does not show the text, which may contain a password.
    init(reading text: String) throws(Invalid) {
        let isInASCII = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        guard let scheme = ["mqtt://", "mqtts://"].first(where: text.hasPrefix), isInASCII else {
            throw Invalid(reason: Self.rule)
        }
        var rest = text.dropFirst(scheme.utf8.count)
        if rest.utf8.contains(UInt8(ascii: "@")) {
            throw Invalid(
                reason: "must not contain a user; write “user: NAME”, and put the password into the credential "
                    + "mqtt.password")
        }
        usesTLS = scheme == "mqtts://"
        let isBracketed = rest.hasPrefix("[")
        if isBracketed {
            guard let end = rest.firstIndex(of: "]"), Self.isIPv6(rest[rest.index(after: rest.startIndex)..<end]) else {
                throw Invalid(reason: Self.rule)
            }
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = String(rest[..<end])
            rest = rest[end...]
            // A name of a host, or an IPv4 address.
            guard MQTTSettings.isName(host) else { throw Invalid(reason: Self.rule) }
        }
        if rest.isEmpty {
            port = usesTLS ? 8883 : 1883
        } else {
            let digits = rest.dropFirst()
            guard rest.first == ":", digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(digits),
                port > 0
            else { throw Invalid(reason: Self.rule) }
            self.port = port
        }
    }

    private static func isIPv6(_ text: Substring) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, String(text), &address) == 1
    }

    /// The URL, with its port.
    public var description: String { "\(usesTLS ? "mqtts" : "mqtt")://\(authority)" }

    /// The host and the port, for people.
    public var authority: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension MQTTSettings {
    /// Whether a text can be the name or the IPv4 address of a computer.
    fileprivate static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "._-".utf8.contains(byte)
            }
    }
}

/// A pattern of servers of other hosts: `SERVER@HOST`, or `HOST` for all its servers.
///
/// The last `@` separates them, because names of servers may contain it.
public struct FollowPattern: Hashable, Sendable, CustomStringConvertible {
    public let server: String
    public let host: String

    /// Reads a pattern; nil if no server of a host can match it.
    public init?(_ text: String) {
        let at = text.lastIndex(of: "@")
        server = at.map { String(text[..<$0]) } ?? "*"
        host = at.map { String(text[text.index(after: $0)...]) } ?? text
        guard MQTTSettings.isPattern(server), MQTTSettings.isPattern(host),
            !host.utf8.contains(UInt8(ascii: ":"))
        else { return nil }
    }

    public var description: String { server == "*" ? host : "\(server)@\(host)" }

    /// Whether a server of another host matches.
    public func matches(server name: String, host hostName: String) -> Bool {
        matches(host: hostName) && fnmatch(server, name, 0) == 0
    }

    /// Whether a server of this host could match.
    public func matches(host name: String) -> Bool { fnmatch(host, name, 0) == 0 }
}
