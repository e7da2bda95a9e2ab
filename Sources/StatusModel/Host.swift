// SPDX-License-Identifier: Apache-2.0

/// Whether the statusd of another host can be heard.
public enum HostState: String, Sendable, CaseIterable {
    /// It can be heard, so its servers are current.
    case ready
    /// It was stopped.
    case stopped
    /// It is not heard any more.
    case lost
}

/// Another host, whose servers are followed here.
public struct Host: Hashable, Sendable {
    public var name: ServerName
    public var state: HostState
    /// Since when it has this state, by this host's clock.
    public var since: Timestamp
    /// When it was last heard, by this host's clock.
    public var heardAt: Timestamp
    /// How far its clock is ahead of this host's; nil if that is unknown.
    public var clockDifference: Duration?
    /// The version of its statusd.
    public var version: String?
    /// The number of its servers that are followed here.
    public var servers: Int
    /// The worst level of these servers; nil if none of them has a status.
    public var worst: Level?

    /// The source kind of a host's servers, and of the server that stands for the host.
    public static let source = "mqtt"

    public init(
        name: ServerName, state: HostState, since: Timestamp, heardAt: Timestamp, clockDifference: Duration? = nil,
        version: String? = nil, servers: Int = 0, worst: Level? = nil
    ) {
        (self.name, self.state, self.since, self.heardAt) = (name, state, since, heardAt)
        (self.clockDifference, self.version, self.servers, self.worst) = (clockDifference, version, servers, worst)
    }
}

extension ServerState {
    /// Whether it is a server of another host, or stands for one.
    public var isOfOtherHost: Bool { source == Host.source }
}

extension ServerName {
    /// The name here of another host's server, such as `db@web1`; nil if it would be too long.
    public init?(_ server: ServerName, on host: ServerName) { self.init("\(server)@\(host)") }

    /// Whether it can be the name of a host: letters, digits, `.`, `_` and `-`.
    public var isHost: Bool {
        rawValue.utf8.allSatisfy { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ":") }
    }

    /// The host in the name of another host's server: what is behind the last `@`; nil if there is none.
    public var host: ServerName? {
        guard let at = rawValue.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return ServerName(String(rawValue[rawValue.utf8.index(after: at)...]))
    }
}
