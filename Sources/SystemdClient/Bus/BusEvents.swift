// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// The events of a bus's thread that the loop has not taken yet, up to a limit.
///
/// A state machine: it takes no lock and performs no effects.
struct BusEvents {
    /// If more signals than these wait, they are dropped and replaced by ``BusThread/Event/disturbed``.
    private static let maximumSignals = 1024

    private var events: Deque<BusThread.Event> = []
    private var signals = 0
    /// The units with a waiting signal that they were loaded or unloaded.
    ///
    /// One signal for each is enough.
    private var units: Set<String> = []
    /// Whether the loop knows that there are events.
    private var isAnnounced = false

    /// Adds an event; returns whether to notify the loop.
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

    /// Takes the oldest event; after nil, the loop must be notified of the next one.
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
    /// Whether the signal may be dropped if there are too many.
    ///
    /// A new manager's signal may not, because that manager must be asked for signals.
    fileprivate var mayBeDropped: Bool { member != "NameOwnerChanged" }

    /// The unit that was loaded or unloaded, if the signal reports that.
    fileprivate var loadedUnit: String? { member == "UnitNew" || member == "UnitRemoved" ? strings.first : nil }
}
