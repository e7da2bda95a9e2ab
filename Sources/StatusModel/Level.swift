// SPDX-License-Identifier: Apache-2.0

/// The level of a status, in the words of the Nagios plugin interface.
public enum Level: String, Sendable, CaseIterable {
    case ok, warning, critical, unknown

    /// Whether this level is worse: unknown comes between warning and critical, because it may be anything.
    public func isWorse(than other: Level) -> Bool { rank > other.rank }

    private var rank: Int {
        switch self {
        case .ok: 0
        case .warning: 1
        case .unknown: 2
        case .critical: 3
        }
    }
}
