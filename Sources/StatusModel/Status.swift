// SPDX-License-Identifier: Apache-2.0

/// What a server said last, and when.
public struct Status: Hashable, Sendable {
    /// The text that people read.
    public var text: StatusText
    /// How serious it is.
    public var level: Level
    /// When text or level last became another.
    public var changedAt: Timestamp
    /// When the level last became another.
    public var levelChangedAt: Timestamp
    /// When it was last posted, changed or not.
    public var updatedAt: Timestamp

    /// A status with all that belongs to it; unless it is said, the level changed together with the text.
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
