// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import StatusModel

/// The configuration, merged from all files.
public struct Configuration: Equatable, Sendable {
    /// The server to select when the daemon starts, and when a reload changes this value.
    public var select: ServerName?
    /// The file and line of `select:`.
    public var selectOrigin: Origin?
    /// Whether a post may add an unconfigured server.
    public var acceptsAny = false
    /// The servers, by name.
    public var servers: [ServerName: ServerConfiguration] = [:]
    /// The limits of clients and checks.
    public var limits = Limits()
    /// The limits of the history.
    public var history = HistoryLimits()

    /// Creates a configuration without servers that accepts posts only for configured ones.
    public init() {}

    /// The configuration if there are no files: it accepts posts for every server.
    public static var embedded: Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = true
        return configuration
    }
}
