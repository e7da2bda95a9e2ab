// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets only signals of the followed units pass to the loop.
///
/// Any local user can make the service manager send many others, by asking it for units that do not exist.
final class BusFilter: Sendable {
    private let subjects = Mutex<Set<String>>([])

    /// How many signals about loaded and unloaded units are normal in a second.
    ///
    /// Reading a unit that is not loaded causes two.
    var usualSignals: Int { 500 + subjects.withLock(\.count) * 2 }

    /// Changes the set of unit names and object paths.
    func change(_ change: (inout sending Set<String>) -> Void) { subjects.withLock { change(&$0) } }

    /// Whether a signal may pass, judging by its header.
    func mayPass(member: String?, path: String?) -> Bool { member != "PropertiesChanged" || contains(path) }

    /// Whether a signal passes, judging by its contents.
    func passes(_ signal: BusMessage) -> Bool {
        switch signal.member {
        case "UnitNew", "UnitRemoved": contains(signal.strings.first)
        case "JobRemoved": contains(signal.startFailure?.unit)
        default: true
        }
    }

    /// Whether a unit name or an object path is in the set.
    func contains(_ subject: String?) -> Bool {
        guard let subject else { return false }
        return subjects.withLock { $0.contains(subject) }
    }
}
