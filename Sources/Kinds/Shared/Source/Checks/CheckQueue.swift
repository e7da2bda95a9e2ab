// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// The checks that wait for a slot: first the urgent ones, then the others, each in order of arrival.
///
/// Each operation takes constant time.
struct CheckQueue<Waiter> {
    private struct Entry {
        let resource: CheckBudget.Resource
        let waiter: Waiter
        /// Whether the check is among the urgent ones; it is added there only once.
        var isExpedited = false
    }

    /// The numbers of checks, in order; numbers of removed checks stay until they reach the front.
    private typealias Lines = [CheckBudget.Resource: Deque<Int>]

    private var entries: [Int: Entry] = [:]
    /// The number of ordinary checks.
    private var ordinaryCounts: [CheckBudget.Resource: Int] = [:]
    /// The urgent checks, each with its position among the urgent checks of all resources.
    private var urgent: [CheckBudget.Resource: Deque<(number: Int, position: Int)>] = [:]
    private var lastPosition = 0
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

    /// Moves a check behind the last urgent one.
    mutating func expedite(_ number: Int) {
        guard let entry = entries[number], !entry.isExpedited else { return }
        entries[number]?.isExpedited = true
        ordinaryCounts[entry.resource, default: 0] -= 1
        lastPosition += 1
        urgent[entry.resource, default: []].append((number: number, position: lastPosition))
    }

    /// Removes a check; returns nil if it is no longer waiting.
    mutating func remove(_ number: Int) -> Waiter? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if !entry.isExpedited { ordinaryCounts[entry.resource, default: 0] -= 1 }
        return entry.waiter
    }

    /// Whether an ordinary check waits for a resource.
    func hasOrdinary(_ resource: CheckBudget.Resource) -> Bool { ordinaryCounts[resource, default: 0] > 0 }

    /// Whether an urgent check waits for a resource, even if its callers have left.
    func hasUrgent(_ resource: CheckBudget.Resource) -> Bool { urgent[resource]?.isEmpty == false }

    /// Removes and returns the next check that is still urgent and may run; nil if there is none.
    mutating func popUrgent(
        where mayRun: (CheckBudget.Resource) -> Bool, isUrgent: (Waiter) -> Bool
    ) -> (waiter: Waiter, resource: CheckBudget.Resource)? {
        var fronts: [(number: Int, position: Int, resource: CheckBudget.Resource)] = []
        for resource in CheckBudget.Resource.allCases where mayRun(resource) {
            if let front = urgentFront(of: resource, isUrgent: isUrgent) {
                fronts.append((number: front.number, position: front.position, resource: resource))
            }
        }
        guard let next = fronts.min(by: { $0.position < $1.position }), let waiter = remove(next.number)
        else { return nil }
        _ = urgent[next.resource]?.popFirst()
        return (waiter, next.resource)
    }

    /// Returns the first urgent check of a resource.
    ///
    /// Checks whose callers have left return to their positions among the ordinary checks.
    private mutating func urgentFront(
        of resource: CheckBudget.Resource, isUrgent: (Waiter) -> Bool
    ) -> (number: Int, position: Int)? {
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

    /// Removes and returns the next ordinary check that may run; nil if there is none.
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
