// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

/// The bounds of what clients and checks may use.
public struct Limits: Equatable, Sendable {
    /// The longest message of a client, in bytes.
    public var message = 64 * 1024
    /// How many bytes of replies may wait for one client.
    public var unsent = 64 * 1024
    /// How many connections one user may have.
    public var connections = 128
    /// How many servers there may be that nobody configured.
    public var servers = 4096
    /// How many checks may run side by side.
    public var checks = CheckLimits()

    /// The limits that hold where no file says otherwise.
    public init() {}
}
