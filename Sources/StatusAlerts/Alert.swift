// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// One entry of a delivery.
public struct Alert: Equatable, Sendable {
    public enum Kind: String, Sendable {
        case problem, recovery
        /// An open problem is told again.
        case reminder
        /// A server with an open problem was removed, or is not told about any more.
        case removed
    }

    public let kind: Kind
    public let server: ServerName
    public let level: Level
    /// The level that the receiver was told last.
    public let oldLevel: Level
    /// Names a problem from its first alert to its recovery, also over a restart.
    public let id: String
    /// When the level became this one.
    public let since: Timestamp

    public init(kind: Kind, server: ServerName, level: Level, oldLevel: Level, id: String, since: Timestamp) {
        (self.kind, self.server, self.level, self.oldLevel) = (kind, server, level, oldLevel)
        (self.id, self.since) = (id, since)
    }
}

/// What one receiver knows of one server.
public struct Told: Equatable, Sendable {
    /// The level that it was told last.
    public var level = Level.ok
    /// The problem that it was told, or may have been told; nil if none is open.
    public var id: String?
    /// Whether the same level must be told again: there was another one in between that it did not want to know, or
    /// that a delivery whose end is unknown may have told.
    public var isOutdated = false
    /// When it was last told, as a time since boot.
    public var toldAt = Duration.zero

    public init() {}

    /// The same with times of another boot.
    public func shifted(by shift: Duration) -> Told {
        var told = self
        told.toldAt += shift
        return told
    }

    /// Whether nothing needs to be kept.
    var isInitial: Bool { level == .ok && id == nil }
}

/// A receiver and a server.
public struct AlertKey: Hashable, Sendable {
    public let receiver: String
    public let server: ServerName

    public init(_ receiver: String, _ server: ServerName) {
        self.receiver = receiver
        self.server = server
    }
}

/// Why a level that differs from what a receiver knows is not told now.
public enum Hold: Equatable, Sendable {
    case silenced
    /// This server, without which the other one cannot be reached, is critical or failed.
    case parent(ServerName)
    /// It waits for a result of this server that is newer than the end of the last hold, or than the problem.
    case result(ServerName)
    /// It has not lasted long enough.
    case until(Duration)
}

/// How a delivery ended.
public enum DeliveryEnd: Equatable, Sendable {
    /// The receiver has taken it.
    case delivered
    /// The receiver has told that it has not.
    case refused
    /// The receiver may have taken it: it was ended, or its exit status is unknown.
    case unknown
}

/// Something that a receiver does not know yet.
public struct Untold: Equatable, Sendable {
    public let server: ServerName
    /// The present level; nil if the server was removed.
    public let level: Level?
    /// Why it is not told now; nil if it is due.
    public let hold: Hold?
}
