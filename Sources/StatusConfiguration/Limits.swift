// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

public struct HistoryLimits: Equatable, Sendable {
    /// How long an entry is kept.
    public var keep = Duration.seconds(90 * 86_400)
    /// The maximum number of entries, of which each server has an equal share; 0 turns the history off.
    public var changes = 100_000

    public init() {}
}

/// The limits of clients and checks.
public struct Limits: Equatable, Sendable {
    /// The maximum length of a client's message, in bytes.
    public var message = 64 * 1024
    /// The maximum size of the unsent replies to one client, in bytes.
    public var unsent = 64 * 1024
    /// The maximum number of connections of one user.
    public var connections = 128
    /// The maximum number of unconfigured servers.
    public var servers = 4096
    /// The maximum numbers of checks that run at the same time.
    public var checks = CheckLimits()

    public init() {}
}
