// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// The checks that wait for a slot: first the urgent ones, then the others, each in order of arrival.
///
/// The time of each operation does not depend on the number of checks.
struct CheckQueue<Waiter> {
    private struct Entry {
        let resource: CheckBudget.Resource
        let waiter: Waiter
        /// Whether it is among the urgent ones; it is added there only once.
        var isExpedited = false
    }

    /// The numbers of checks in order, including some that no longer wait, until these reach the front.
    private typealias Lines = [CheckBudget.Resource: Deque<Int>]

    private var entries: [Int: Entry] = [:]
    /// The number of ordinary checks.
    private var ordinaryCounts: [CheckBudget.Resource: Int] = [:]
    /// The urgent checks, each with its place among all of them.
    private var urgent: [CheckBudget.Resource: Deque<(number: Int, place: Int)>] = [:]
    private var lastPlace = 0
    private var ordinary = Self.emptyLines
    private var lastNumber = 0

    private static var emptyLines: Lines {
        Dictionary(uniqueKeysWithValues: CheckBudget.Resource.allCases.map { ($0, []) })
    }

    /// The number of waiting checks.
    var count: Int { entries.count }

    /// Adds a check; returns its number.
    mutating func append(_ waiter: Waiter, for resource: CheckBudget.Resource) -> Int {
        lastNumber += 1
        entries[lastNumber] = Entry(resource: resource, waiter: waiter)
        ordinaryCounts[resource, default: 0] += 1
        ordinary[resource]?.append(lastNumber)
        return lastNumber
    }

    /// Puts a check after the urgent ones and before all others.
    mutating func expedite(_ number: Int) {
        guard let entry = entries[number], !entry.isExpedited else { return }
        entries[number]?.isExpedited = true
        ordinaryCounts[entry.resource, default: 0] -= 1
        lastPlace += 1
        urgent[entry.resource, default: []].append((number: number, place: lastPlace))
    }

    /// Removes a check; returns nil if it no longer waits.
    mutating func remove(_ number: Int) -> Waiter? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if !entry.isExpedited { ordinaryCounts[entry.resource, default: 0] -= 1 }
        return entry.waiter
    }

    /// Whether an ordinary check waits for a resource.
    func hasOrdinary(_ resource: CheckBudget.Resource) -> Bool { ordinaryCounts[resource, default: 0] > 0 }

    /// Whether an expedited check waits for a resource, even if its callers have left.
    func hasUrgent(_ resource: CheckBudget.Resource) -> Bool { urgent[resource]?.isEmpty == false }

    /// Removes the next urgent check that `mayRun` and that is still urgent; nil if there is none.
    mutating func popUrgent(
        where mayRun: (CheckBudget.Resource) -> Bool, isUrgent: (Waiter) -> Bool
    ) -> (waiter: Waiter, resource: CheckBudget.Resource)? {
        var fronts: [(number: Int, place: Int, resource: CheckBudget.Resource)] = []
        for resource in CheckBudget.Resource.allCases where mayRun(resource) {
            if let front = urgentFront(of: resource, isUrgent: isUrgent) {
                fronts.append((number: front.number, place: front.place, resource: resource))
            }
        }
        guard let next = fronts.min(by: { $0.place < $1.place }), let waiter = remove(next.number) else { return nil }
        _ = urgent[next.resource]?.popFirst()
        return (waiter, next.resource)
    }

    /// The first urgent check of a resource; those whose callers have left return to their places among the others.
    private mutating func urgentFront(
        of resource: CheckBudget.Resource, isUrgent: (Waiter) -> Bool
    ) -> (number: Int, place: Int)? {
        while let front = urgent[resource]?.first {
            guard let entry = entries[front.number] else {
                _ = urgent[resource]?.popFirst()
                continue
            }
            if isUrgent(entry.waiter) { return front }
            entries[front.number]?.isExpedited = false
            ordinaryCounts[resource, default: 0] += 1
            _ = urgent[resource]?.popFirst()
        }
        return nil
    }

    /// Removes the next ordinary check that `mayRun`; nil if there is none.
    mutating func popOrdinary(
        where mayRun: (CheckBudget.Resource) -> Bool
    ) -> (waiter: Waiter, resource: CheckBudget.Resource)? {
        let resources = CheckBudget.Resource.allCases.filter(mayRun)
        let fronts = resources.compactMap { resource in front(of: resource).map { (number: $0, resource: resource) } }
        guard let next = fronts.min(by: { $0.number < $1.number }), let waiter = remove(next.number) else { return nil }
        _ = ordinary[next.resource]?.popFirst()
        return (waiter, next.resource)
    }

    private mutating func front(of resource: CheckBudget.Resource) -> Int? {
        while let number = ordinary[resource]?.first {
            if entries[number] != nil { return number }
            _ = ordinary[resource]?.popFirst()
        }
        return nil
    }
}
