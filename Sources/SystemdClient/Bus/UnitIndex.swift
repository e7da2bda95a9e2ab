// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The followed units by the names and objects that signals refer to.
@EventLoop
final class UnitIndex {
    /// Lets only signals of these units pass.
    let filter = BusFilter()
    private var units: [String: [FollowedUnit]] = [:]
    private var subjects: [ObjectIdentifier: Set<String>] = [:]

    /// Adds a unit, or updates its names.
    func update(_ unit: FollowedUnit) {
        remove(unit)
        subjects[ObjectIdentifier(unit)] = unit.subjects
        for subject in unit.subjects { units[subject, default: []].append(unit) }
        let added = unit.subjects
        filter.change { $0.formUnion(added) }
    }

    /// Removes a unit.
    func remove(_ unit: FollowedUnit) {
        var gone: Set<String> = []
        for subject in subjects.removeValue(forKey: ObjectIdentifier(unit)) ?? [] {
            units[subject]?.removeAll { $0 === unit }
            guard units[subject]?.isEmpty == true else { continue }
            units[subject] = nil
            gone.insert(subject)
        }
        let removed = gone
        if !removed.isEmpty { filter.change { $0.subtract(removed) } }
    }

    /// The units that a signal refers to.
    subscript(subject: String) -> [FollowedUnit] { units[subject] ?? [] }
}
