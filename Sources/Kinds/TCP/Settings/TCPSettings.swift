// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `tcp: host:port`: a port where a server must accept connections.
public struct TCPSettings: SourceSettings {
    public static let key = "tcp"
    public static let delivery = SourceDelivery.checked

    /// The host, as a name or an address.
    public var host: String
    public var port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public var subjectParts: [String] { [host, String(port)] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> TCPSettings? {
        let what = "HOST:PORT, such as 127.0.0.1:6379 or [::1]:6379, with a port from 1 to 65535"
        let text = try reader.nodes.string(node, of: key, what)
        guard let address = HostAndPort(text), let port = address.port else {
            throw reader.nodes.problem(at: node, "“tcp” must be \(what)")
        }
        return TCPSettings(host: address.host, port: port)
    }
}
