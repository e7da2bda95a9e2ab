// SPDX-License-Identifier: Apache-2.0

import DequeModule
import EventLoopIO

/// A queue of units to be read, in which each stands once.
///
/// A unit that is read from another queue meanwhile keeps its place, and is passed over if nothing is to be asked about it by then: to look for it among
/// thousands would cost more.
@EventLoop
struct UnitLine {
    private var entries: Deque<(unit: FollowedUnit, isLoaded: Bool)> = []
    private var members: Set<ObjectIdentifier> = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var units: [FollowedUnit] { entries.map(\.unit) }

    /// Adds a unit at the end, unless it stands in the queue already.
    ///
    /// - Parameter isLoaded: whether it is known to be loaded.
    mutating func append(_ unit: FollowedUnit, isLoaded: Bool = false) {
        if members.insert(ObjectIdentifier(unit)).inserted { entries.append((unit, isLoaded)) }
    }

    /// Takes the first unit about which something is to be asked, and whether it is known to be loaded.
    mutating func popFirst() -> (unit: FollowedUnit, isLoaded: Bool)? {
        while let entry = entries.popFirst() {
            members.remove(ObjectIdentifier(entry.unit))
            if entry.unit.isToBeAsked { return entry }
        }
        return nil
    }
}
