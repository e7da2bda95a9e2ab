// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

/// The limits of clients and checks.
public struct Limits: Equatable, Sendable {
    /// The longest message of a client, in bytes.
    public var message = 64 * 1024
    /// The most bytes of replies that may wait for one client.
    public var unsent = 64 * 1024
    /// The most connections of one user.
    public var connections = 128
    /// The most servers that are not configured.
    public var servers = 4096
    /// The most checks that run at the same time.
    public var checks = CheckLimits()

    /// The default limits.
    public init() {}
}
