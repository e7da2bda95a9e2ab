// SPDX-License-Identifier: Apache-2.0

extension Level {
    /// How bad a level is, from 1 for ok to 4 for critical: a server of which nothing is known is worse than one with a
    /// warning.
    public var severity: Int {
        switch self {
        case .ok: 1
        case .warning: 2
        case .unknown: 3
        case .critical: 4
        }
    }
}

extension ServerState {
    /// The level for which the state counts in filters and sums: `unknown` if the status is not current, nil if there
    /// is none yet.
    public var countedLevel: Level? {
        guard status != nil || phase == .failed || isStale else { return nil }
        return isCurrent ? status?.level ?? .unknown : .unknown
    }
}
