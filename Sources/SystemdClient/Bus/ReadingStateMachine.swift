// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decides which unit is read next and how many at a time; performs no effects itself.
///
/// A unit stands once in each of two queues: those that have become another one come before all others, of which there may be thousands. One that is
/// read from one queue keeps its place in the other, and is passed over if nothing is to be asked about it by then: to look for it would
/// cost more.
struct ReadingStateMachine<Unit: AnyObject>: ~Copyable {
    /// What to do outside.
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

    /// How many units are read at a time, and how many together with those that come first: dbus-daemon refuses a system bus's client more than
    /// 128 calls without a reply.
    private static var limits: (others: Int, all: Int) { (32, 64) }

    private let patience: Duration
    private var first = Queue()
    private var others = Queue()
    private var reading: [Unit] = []
    private var isRunDue = false
    private var isTimed = false
    /// How long the queue was at most since it was empty.
    private var longest = 0

    /// - Parameter patience: how long a unit may be asked about in vain; the time that reading those that wait takes is added.
    init(patience: Duration) { self.patience = patience }

    /// The units that are being read, or wait for it.
    var units: [Unit] { reading + others.units + first.units }

    /// Something is to be asked about a unit, which may stand in a queue already.
    mutating func asked(about unit: Unit, isNew: Bool) -> [Effect] {
        if isNew { others.append(unit, isLoaded: false) }
        longest = max(longest, others.count)
        return resumed() + watch()
    }

    /// A unit has become another one.
    ///
    /// - Parameters:
    ///   - isLoaded: whether it is known to be loaded.
    ///   - isAsked: whether a question about it is under way, so that it gets in line only after that.
    mutating func changed(_ unit: Unit, isLoaded: Bool, isAsked: Bool) -> [Effect] {
        if !isAsked { first.append(unit, isLoaded: isLoaded) }
        return resumed() + watch()
    }

    /// Units may be read again.
    mutating func resumed() -> [Effect] {
        defer { isRunDue = true }
        return isRunDue ? [] : [.run]
    }

    /// The end of the turn has come.
    mutating func began() { isRunDue = false }

    /// Takes the unit whose turn it is, and whether it is known to be loaded; nil if there is none, or as many are being read as may be.
    mutating func next(where isDue: (Unit) -> Bool) -> (unit: Unit, isLoaded: Bool)? {
        guard
            let next = (reading.count < Self.limits.all ? first.popFirst(where: isDue) : nil)
                ?? (reading.count < Self.limits.others ? others.popFirst(where: isDue) : nil)
        else { return nil }
        reading.append(next.unit)
        return next
    }

    /// A unit was read, or could not be read.
    mutating func ended(_ unit: Unit, isDueAgain: Bool) -> [Effect] {
        reading.removeAll { $0 === unit }
        if isDueAgain { others.append(unit, isLoaded: false) }
        return resumed()
    }

    // MARK: What is not answered

    /// How long a unit may have been asked about in vain.
    var limit: Duration { patience + BusTimes.reading(units: longest) }

    /// The time to wait is over.
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
