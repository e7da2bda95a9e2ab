// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import StatusModel

/// What statusd is to follow, and how: all files together.
public struct Configuration: Equatable, Sendable {
    /// The first selection; later the last one is kept.
    public var select: ServerName?
    /// Where that is said.
    public var selectOrigin: Origin?
    /// Whether servers that nobody configured may post.
    public var acceptsAny = false
    /// The servers, by name.
    public var servers: [ServerName: ServerConfiguration] = [:]
    /// The bounds of what clients and checks may use.
    public var limits = Limits()

    /// A configuration without servers, in which only configured ones may post.
    public init() {}

    /// What holds where there is no configuration at all: whoever posts is accepted.
    public static var embedded: Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = true
        return configuration
    }
}
