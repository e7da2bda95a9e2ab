// SPDX-License-Identifier: Apache-2.0

/// The last status of a server, with its times.
public struct Status: Hashable, Sendable {
    /// The text that people read.
    public var text: StatusText
    /// The level.
    public var level: Level
    /// When text or level last changed.
    public var changedAt: Timestamp
    /// When the level last changed.
    public var levelChangedAt: Timestamp
    /// When it was last posted, changed or not.
    public var updatedAt: Timestamp

    /// A status; by default, the level changed together with the text.
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
