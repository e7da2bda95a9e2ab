// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `ping: host`, `ping: { host: …, count: 3, loss: 20%, slow: 100ms }`: a host that must answer ICMP echo requests.
public struct PingSettings: SourceSettings {
    public static let key = "ping"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["host", "count", "loss", "slow"]

    /// The host, as a name or an address.
    public var host: String
    /// The number of echo requests of one check.
    public var count = 3
    /// The percentage of lost requests from which on the level is warning.
    public var loss = 20.0
    /// The average time from which on the level is warning; nil for none.
    public var slow: Duration?

    public init(host: String) { self.host = host }

    public var subjectParts: [String] {
        [host, String(count), String(loss)] + (slow.map { ["slow", "\(Int($0 / .milliseconds(1)))"] } ?? [])
    }

    public var requirements: [SourceRequirement] { [.echoRequests] }

    /// The reason why a check fails if the kernel does not let the daemon's group ping, and what to do.
    public static let refusal = "may not ping: allow it with sysctl net.ipv4.ping_group_range=\"0 2147483647\""

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> PingSettings? {
        var settings = PingSettings(host: "")
        guard node.mapping != nil else {
            settings.host = try host(node, of: key, reader.nodes)
            return settings
        }
        try reader.readMapping(node, of: key, keys: keys, example: "192.0.2.1") {
            key, value, reader throws(Problem) in
            switch key {
            case "host": settings.host = try host(value, of: key, reader.nodes)
            case "count": settings.count = try reader.nodes.count(value, of: key, in: 1...20)
            case "loss": settings.loss = try reader.nodes.percentage(value, of: key, in: 1...100)
            default: settings.slow = try reader.nodes.slow(value)
            }
        }
        return settings
    }

    private static func host(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "a host name or an address without a port, such as 192.0.2.1"
        guard let host = HostAndPort.host(try nodes.string(node, of: key, what)) else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        return host
    }
}
