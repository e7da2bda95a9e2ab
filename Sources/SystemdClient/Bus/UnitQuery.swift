// SPDX-License-Identifier: Apache-2.0

/// A question to the service manager: which units it has in memory, by their own names and not by aliases.
package struct UnitQuery: Hashable, Sendable {
    /// Patterns as in fnmatch(3), without escapes; a unit must match one of them.
    package var patterns: [String]
    /// The active states that count, such as `failed`; empty for all.
    package var states: [String]

    package init(patterns: [String], states: [String] = []) { (self.patterns, self.states) = (patterns, states) }

    /// Whether a listed unit is an answer.
    ///
    /// The manager also has units in memory that other units name but that do not exist or may not start.
    static func counts(loadState: String, activeState: String) -> Bool {
        activeState != "inactive" || !["not-found", "masked", "merged", "stub"].contains(loadState)
    }
}

/// What a follower follows.
enum UnitSubject: Hashable, Sendable {
    /// A unit, by its full name.
    case unit(String)
    case query(UnitQuery)
}

/// A report to a follower.
package enum UnitReport: Sendable, Equatable {
    /// An observation of a unit; of a query, only that nothing is known.
    case observation(UnitObservation)
    /// The sorted names of the units that answer a query.
    case names([String])
}
