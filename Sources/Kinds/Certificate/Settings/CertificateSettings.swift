// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `certificate: host:port`, `certificate: { host: …, expires: 14d }`: the TLS certificate of a server.
public struct CertificateSettings: SourceSettings {
    public static let key = "certificate"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["host", "expires", "name", "starttls", "ca"]

    /// A protocol in which the client asks for TLS before the handshake (RFC 3207, 2595).
    public enum StartTLS: String, Sendable, CaseIterable {
        case smtp, imap, pop3

        var port: UInt16 {
            switch self {
            case .smtp: 25
            case .imap: 143
            case .pop3: 110
            }
        }
    }

    /// The host to connect to, as a name or an address; an IPv6 address is in brackets.
    public var host: String
    public var port: UInt16
    /// The name or address for which the certificate must be valid, and which the server is told; nil for the host.
    public var name: String?
    /// The protocol before TLS; nil if the connection begins with TLS.
    public var startTLS: StartTLS?
    /// The time before the expiry from which on the level is warning.
    public var expires = ExpiryLimits.defaultWarning
    /// A PEM file with the authorities to trust, instead of the system's.
    public var certificateAuthority: String?

    public init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    public var subjectParts: [String] {
        [host, String(port), name ?? "", startTLS?.rawValue ?? "", certificateAuthority ?? ""]
            + ["\(expires.components.seconds)"]
    }
    public var requirements: [SourceRequirement] {
        [HTTPSettings.libcurl] + (certificateAuthority.map { [.readableFile($0)] } ?? [])
    }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> Self? {
        let nodes = reader.nodes
        var settings = Self(host: "", port: 0)
        guard node.mapping != nil else {
            try settings.readAddress(node, of: key, nodes)
            return settings.completed
        }
        try reader.readMapping(
            node, of: key, keys: keys, example: "example.org:443"
        ) { key, value, _ throws(Problem) in
            switch key {
            case "host": try settings.readAddress(value, of: key, nodes)
            case "expires": settings.expires = try ExpiryLimits.read(value, nodes)
            case "name": settings.name = try name(value, nodes)
            case "starttls": settings.startTLS = try startTLS(value, nodes)
            default: settings.certificateAuthority = try HTTPSettings.path(value, nodes)
            }
        }
        return settings.completed
    }

    /// The settings with the port of the protocol, if none is configured.
    private var completed: Self {
        var settings = self
        if port == 0 { settings.port = startTLS?.port ?? 443 }
        return settings
    }

    private mutating func readAddress(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) {
        let what = "HOST or HOST:PORT, such as example.org:443 or [::1]:443, with a port from 1 to 65535"
        let text = try nodes.string(node, of: key, what)
        guard let address = HostAndPort(text), let host = Self.host(address.host) else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)\(Self.advice(text))")
        }
        (self.host, port) = (host, address.port ?? 0)
    }

    private static func name(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "the name or address in the certificate, such as example.org"
        let text = try nodes.string(node, of: "name", what)
        guard let address = HostAndPort(text), address.port == nil, let name = host(address.host) else {
            throw nodes.problem(at: node, "“name” must be \(what)\(advice(text))")
        }
        return name
    }

    /// Returns a host as in a URL; nil if it has characters that mean something else there.
    private static func host(_ text: String) -> String? {
        if text.utf8.contains(UInt8(ascii: ":")) { return "[\(text)]" }
        func isAllowed(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return text.utf8.allSatisfy(isAllowed) ? text : nil
    }

    private static func advice(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? "" : ", in ASCII; write it as xn--… (see idn2(1))"
    }

    private static func startTLS(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> StartTLS {
        guard let startTLS = StartTLS(rawValue: node.string ?? "") else {
            throw nodes.problem(
                at: node, "“starttls” must be smtp, imap or pop3; without it, the connection begins with TLS")
        }
        return startTLS
    }
}
