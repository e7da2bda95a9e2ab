// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The level for which a time counts, as a number that is greater if it is worse; 0 if there is none.
struct Grade: Hashable {
    var number: Int64

    static let none = Grade(number: 0)

    /// The grade of a state: a status that is not current does not count as its level.
    init(_ state: ServerState) {
        guard state.status != nil || state.phase == .failed || state.isStale else {
            self = .none
            return
        }
        self.init(state.isCurrent ? state.status?.level ?? .unknown : .unknown)
    }

    init(_ level: Level) { number = level.number }

    init(number: Int64) { self.number = number }

    /// The level; nil if there is none.
    var level: Level? { Level.allCases.first { $0.number == number } }
}

extension Level {
    fileprivate var number: Int64 {
        switch self {
        case .ok: 1
        case .warning: 2
        case .unknown: 3
        case .critical: 4
        }
    }
}
