// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// What a bus's thread has for the loop and the loop has not taken yet: bounded, however little the loop takes.
///
/// A state machine: it takes no lock, and calls nobody.
struct BusEvents {
    /// More signals than these do not wait: they are dropped, and ``BusThread/Event/disturbed`` takes their place.
    private static let maximumSignals = 1024

    private var events: Deque<BusThread.Event> = []
    private var signals = 0
    /// The units of which it waits to be told that they were loaded or unloaded: once for each says enough.
    private var units: Set<String> = []
    /// Whether the loop is going to take what there is.
    private var isAnnounced = false

    /// Adds an event; returns whether the loop has to be told that there is something.
    mutating func add(_ event: BusThread.Event) -> Bool {
        if case .signal(let message) = event, message.mayBeDropped {
            if let unit = message.loadedUnit, !units.insert(unit).inserted { return false }
            if signals == Self.maximumSignals {
                dropSignals()
                events.append(.disturbed)
                return announce()
            }
            signals += 1
        }
        events.append(event)
        return announce()
    }

    /// Takes the oldest event; after nil, the loop has to be told again when there is something.
    mutating func next() -> BusThread.Event? {
        guard let event = events.popFirst() else {
            isAnnounced = false
            return nil
        }
        if case .signal(let message) = event, message.mayBeDropped {
            signals -= 1
            if let unit = message.loadedUnit { units.remove(unit) }
        }
        return event
    }

    private mutating func announce() -> Bool {
        defer { isAnnounced = true }
        return !isAnnounced
    }

    private mutating func dropSignals() {
        events.removeAll { if case .signal(let message) = $0 { message.mayBeDropped } else { false } }
        (signals, units) = (0, [])
    }
}

extension BusMessage {
    /// Whether a signal may be dropped where there are too many: not that there is another manager, which has to be asked for signals.
    fileprivate var mayBeDropped: Bool { member != "NameOwnerChanged" }

    /// The unit that a signal says was loaded or unloaded; nil if it says something else.
    fileprivate var loadedUnit: String? { member == "UnitNew" || member == "UnitRemoved" ? strings.first : nil }
}
