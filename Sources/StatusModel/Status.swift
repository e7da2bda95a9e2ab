// SPDX-License-Identifier: Apache-2.0

/// The last status of a server, with its times.
public struct Status: Hashable, Sendable {
    public var text: StatusText
    public var level: Level
    /// The time when the text or level last changed.
    public var changedAt: Timestamp
    public var levelChangedAt: Timestamp
    /// The time when the status was last posted, changed or not.
    public var updatedAt: Timestamp

    /// Creates a status; by default, the level changed together with the text.
    public init(
        text: StatusText, level: Level, changedAt: Timestamp, levelChangedAt: Timestamp? = nil, updatedAt: Timestamp
    ) {
        self.text = text
        self.level = level
        self.changedAt = changedAt
        self.levelChangedAt = levelChangedAt ?? changedAt
        self.updatedAt = updatedAt
    }
}

/// The level of a status, as in the Nagios plugin interface.
public enum Level: String, Sendable, CaseIterable {
    case ok, warning, critical, unknown

    public func isWorse(than other: Level) -> Bool { severity > other.severity }

    /// The severity, from 1 for ok to 4 for critical.
    ///
    /// Unknown is between warning and critical, because the server may be in any state.
    public var severity: Int {
        switch self {
        case .ok: 1
        case .warning: 2
        case .unknown: 3
        case .critical: 4
        }
    }
}
