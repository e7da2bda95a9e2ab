// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decides which unit to read next and how many at a time; performs no effects itself.
///
/// A unit can be in each of two queues. Units that have changed are in the first one, which is served before the other,
/// with perhaps thousands of units. A unit that is read from one queue keeps its place in the other, and is skipped
/// there if no question is due by then: searching for it would cost more.
struct ReadingStateMachine<Unit: AnyObject>: ~Copyable {
    /// What to do outside the machine.
    enum Effect: Equatable {
        /// Take units with `next` at the end of the turn.
        case run
        /// Report the end of this time by `timerFired`.
        case wait(Duration)
    }

    private struct Queue {
        private var entries: Deque<(unit: Unit, isLoaded: Bool)> = []
        private var members: Set<ObjectIdentifier> = []

        var units: [Unit] { entries.map(\.unit) }
        var count: Int { entries.count }

        mutating func append(_ unit: Unit, isLoaded: Bool) {
            if members.insert(ObjectIdentifier(unit)).inserted { entries.append((unit, isLoaded)) }
        }

        mutating func popFirst(where isDue: (Unit) -> Bool) -> (unit: Unit, isLoaded: Bool)? {
            while let entry = entries.popFirst() {
                members.remove(ObjectIdentifier(entry.unit))
                if isDue(entry.unit) { return entry }
            }
            return nil
        }
    }

    /// How many units to read at a time, and how many including changed ones.
    ///
    /// dbus-daemon refuses a client of the system bus more than 128 calls without a reply.
    private static var limits: (others: Int, all: Int) { (32, 64) }

    private let patience: Duration
    private var first = Queue()
    private var others = Queue()
    private var reading: [Unit] = []
    private var isRunDue = false
    private var isTimed = false
    /// The longest that the queue has been since it was empty.
    private var longest = 0

    /// - Parameter patience: how long a question about a unit may be refused, without the time that reading the waiting
    ///   units takes.
    init(patience: Duration) { self.patience = patience }

    /// The units that are being read or wait for it.
    var units: [Unit] { reading + others.units + first.units }

    /// A question about a unit is due; the unit may be in a queue already.
    mutating func asked(about unit: Unit, isNew: Bool) -> [Effect] {
        if isNew { others.append(unit, isLoaded: false) }
        longest = max(longest, others.count)
        return resumed() + watch()
    }

    /// A unit has changed.
    ///
    /// - Parameters:
    ///   - isLoaded: whether it is known to be loaded.
    ///   - isAsked: whether a question about it is unanswered, so that it is queued only after that.
    mutating func changed(_ unit: Unit, isLoaded: Bool, isAsked: Bool) -> [Effect] {
        if !isAsked { first.append(unit, isLoaded: isLoaded) }
        return resumed() + watch()
    }

    /// Units can be read again.
    mutating func resumed() -> [Effect] {
        defer { isRunDue = true }
        return isRunDue ? [] : [.run]
    }

    /// The end of the turn has come, and `next` will be called.
    mutating func began() { isRunDue = false }

    /// Takes the next unit, and whether it is known to be loaded; nil if there is none or too many are being read.
    mutating func next(where isDue: (Unit) -> Bool) -> (unit: Unit, isLoaded: Bool)? {
        guard
            let next = (reading.count < Self.limits.all ? first.popFirst(where: isDue) : nil)
                ?? (reading.count < Self.limits.others ? others.popFirst(where: isDue) : nil)
        else { return nil }
        reading.append(next.unit)
        return next
    }

    /// A unit was read or could not be read.
    mutating func ended(_ unit: Unit, isDueAgain: Bool) -> [Effect] {
        reading.removeAll { $0 === unit }
        if isDueAgain { others.append(unit, isLoaded: false) }
        return resumed()
    }

    // MARK: Refused requests

    /// How long a question about a unit may be refused.
    var limit: Duration { patience + BusTimes.reading(units: longest) }

    /// The wait is over.
    mutating func timerFired() -> [Effect] {
        isTimed = false
        if others.count == 0 { longest = 0 }
        return reading.isEmpty && others.count + first.count == 0 ? [] : watch()
    }

    private mutating func watch() -> [Effect] {
        defer { isTimed = true }
        return isTimed ? [] : [.wait(patience / 10)]
    }
}
