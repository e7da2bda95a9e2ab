// SPDX-License-Identifier: Apache-2.0

/// The states of one unit in the manager's list of all loaded units.
struct ListedStates: Sendable, Equatable {
    let loadState: String
    let activeState: String
    let subState: String

    /// The type of a unit in that list (org.freedesktop.systemd1(5)): its name, its description, these states, and
    /// more.
    static let listing = "ssssssouso"

    /// Reads the list; returns the requested units by their own names.
    static func listed(_ reader: BusReader, isRequested: (String) -> Bool) -> [String: ListedStates] {
        var units: [String: ListedStates] = [:]
        for values in reader.structures(listing, strings: 5, isRequested: isRequested) where values.count == 5 {
            units[values[0]] = ListedStates(loadState: values[2], activeState: values[3], subState: values[4])
        }
        return units
    }
}

extension UnitProperties {
    /// The states that the manager's list would have.
    var states: ListedStates { ListedStates(loadState: loadState, activeState: activeState, subState: subState) }

    /// Records that the unit has failed; the list does not say how.
    mutating func fail(_ states: ListedStates) {
        (loadState, activeState, subState) = (states.loadState, states.activeState, states.subState)
        result = nil
    }
}
