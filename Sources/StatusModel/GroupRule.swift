// SPDX-License-Identifier: Apache-2.0

/// The members of a group, and how bad it is with some of them.
public struct GroupRule: Hashable, Sendable {
    /// How many members must be critical or unknown until the group is critical.
    public enum Quorum: Hashable, Sendable {
        case all
        case count(Int)
    }

    /// The members by name; a group may be one.
    public var names: [ServerName]
    /// Patterns as in fnmatch(3); each server that matches one and is no group is a member.
    public var patterns: [String]
    /// If nil, the group is as bad as its worst member; otherwise a warning until so many members are down.
    public var quorum: Quorum?

    public init(names: [ServerName] = [], patterns: [String] = [], quorum: Quorum? = nil) {
        self.names = names
        self.patterns = patterns
        self.quorum = quorum
    }

    /// The maximum number of groups, so that one change cannot fill the event log with changes of groups.
    public static let maximumCount = 1000
}
