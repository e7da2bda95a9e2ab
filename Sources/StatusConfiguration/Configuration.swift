// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import StatusModel

/// The configuration that all files make together.
public struct Configuration: Equatable, Sendable {
    /// The server to select at the first start; after that, the daemon keeps the last selection.
    public var select: ServerName?
    /// The place of `select:`.
    public var selectOrigin: Origin?
    /// Whether servers that are not configured may post.
    public var acceptsAny = false
    /// The servers, by name.
    public var servers: [ServerName: ServerConfiguration] = [:]
    /// The limits of clients and checks.
    public var limits = Limits()

    /// A configuration without servers, in which only configured servers may post.
    public init() {}

    /// The configuration that holds if there are no files: every server may post.
    public static var embedded: Configuration {
        var configuration = Configuration()
        configuration.acceptsAny = true
        return configuration
    }
}
