// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A level as it is counted over time, or no level.
///
/// Its number is ``Level/severity``, which is greater for a worse level; 0 means no level.
struct Grade: Hashable {
    var number: Int64

    static let none = Grade(number: 0)

    /// The grade of a state: a status that is not current does not count as its level.
    init(_ state: ServerState) { self = state.countedLevel.map { Grade($0) } ?? .none }

    init(_ level: Level) { number = Int64(level.severity) }

    init(number: Int64) { self.number = number }

    /// The level; nil if there is none.
    var level: Level? { Level.allCases.first { $0.severity == number } }
}
