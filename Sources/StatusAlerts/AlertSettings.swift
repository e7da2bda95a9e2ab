// SPDX-License-Identifier: Apache-2.0

import Glibc
public import StatusModel

/// What a receiver wants to be told, and when.
public struct AlertReceiver: Equatable, Sendable {
    /// The levels that are told; a recovery of what was told always is.
    public var levels: Set<Level> = [.warning, .critical, .unknown]
    /// How long to collect what is due, for one delivery; what comes and goes meanwhile is not told.
    public var batch = Duration.seconds(10)
    /// The pause after which an open problem is told again; nil for never.
    public var repetition: Duration?
    /// The servers, by names or patterns (fnmatch(3)); nil for all configured ones.
    public var servers: [String]?

    public init() {}

    /// Whether it is told about a server.
    public func covers(_ name: ServerName, isConfigured: Bool) -> Bool {
        guard let servers else { return isConfigured }
        return servers.contains { fnmatch($0, name.rawValue, 0) == 0 }
    }
}

/// When the level of a server is told.
public struct AlertRule: Hashable, Sendable {
    /// How long a problem must last.
    public var after = Duration.zero
    /// How long a recovery must last.
    public var clear = Duration.zero
    /// Whether anything is told (`alert: false`).
    public var isOn = true
    /// The server without which this one cannot be reached.
    public var parent: ServerName?
    /// Whether statusd checks the server, so that a new result can be requested.
    public var isChecked = false
    /// Whether the server is in the configuration.
    public var isConfigured = true

    public init() {}
}
