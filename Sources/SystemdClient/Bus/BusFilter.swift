// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The units that signals are of interest for, so that no others come to the loop: any local user can have the service manager send a flood of
/// them, by asking it for units that do not exist.
final class BusFilter: Sendable {
    private let subjects = Mutex<Set<String>>([])

    /// How many signals a second that units were loaded or unloaded are nothing special: to read a unit that is not loaded causes two.
    var usualSignals: Int { 500 + subjects.withLock(\.count) * 2 }

    /// Takes over which unit names and object paths are of interest.
    func change(_ change: (inout sending Set<String>) -> Void) { subjects.withLock { change(&$0) } }

    /// Whether a signal is of interest, as far as its header tells.
    func mayPass(member: String?, path: String?) -> Bool { member != "PropertiesChanged" || contains(path) }

    /// Whether a signal that may pass is of interest.
    func passes(_ signal: BusMessage) -> Bool {
        switch signal.member {
        case "UnitNew", "UnitRemoved": contains(signal.strings.first)
        case "JobRemoved": contains(signal.startFailure?.unit)
        default: true
        }
    }

    /// Whether a unit, or an object, is of interest.
    func contains(_ subject: String?) -> Bool {
        guard let subject else { return false }
        return subjects.withLock { $0.contains(subject) }
    }
}
