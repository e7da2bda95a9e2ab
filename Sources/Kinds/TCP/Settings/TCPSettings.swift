// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `tcp: host:port`, `tcp: { host: …, slow: 500ms }`: a port where a server must accept connections.
public struct TCPSettings: SourceSettings {
    public static let key = "tcp"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["host", "slow"]

    /// The host, as a name or an address.
    public var host: String
    public var port: UInt16
    /// The time from which on the level is warning; nil for none.
    public var slow: Duration?

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public var subjectParts: [String] {
        [host, String(port)] + (slow.map { ["slow", "\(Int($0 / .milliseconds(1)))"] } ?? [])
    }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> TCPSettings? {
        guard node.mapping != nil else { return try address(node, of: key, reader.nodes) }
        var settings = TCPSettings(host: "", port: 0)
        try reader.readMapping(node, of: key, keys: keys, example: "127.0.0.1:6379") {
            key, value, reader throws(Problem) in
            if key == "host" {
                let address = try address(value, of: key, reader.nodes)
                (settings.host, settings.port) = (address.host, address.port)
            } else {
                settings.slow = try reader.nodes.slow(value)
            }
        }
        return settings
    }

    private static func address(
        _ node: YAMLNode, of key: String, _ nodes: NodeReader
    ) throws(Problem) -> TCPSettings {
        let what = "HOST:PORT, such as 127.0.0.1:6379 or [::1]:6379, with a port from 1 to 65535"
        let text = try nodes.string(node, of: key, what)
        guard let address = HostAndPort(text), let port = address.port else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        return TCPSettings(host: address.host, port: port)
    }
}
