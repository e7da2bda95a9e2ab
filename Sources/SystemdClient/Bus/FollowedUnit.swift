// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A followed unit: what is known about it, and whether it must be read.
///
/// The service manager signals each change with all properties that can change. So a unit is read only if signals
/// cannot tell its state: at first, after a reload, on request, and after the manager has loaded or unloaded it.
///
/// The manager keeps only some units in memory, such as those that run. To read another one, it loads and unloads it,
/// and signals both. If these signals caused another reading, that would never end. So after such a signal, the unit is
/// read only if it is in memory, or was when it was last read (``Need/look``).
final class FollowedUnit {
    /// How a unit must be read.
    enum Need: Equatable {
        /// Only if it is in the manager's memory, or was.
        case look
        /// In any case, for all requests up to this number.
        case read(request: Int)

        /// The newest request that the reading answers; 0 for none.
        var request: Int { if case .read(let request) = self { request } else { 0 } }

        /// Returns one need that covers both.
        func merged(with other: Need) -> Need {
            switch (self, other) {
            case (.look, let need), (let need, .look): need
            case (.read(let first), .read(let second)): .read(request: max(first, second))
            }
        }
    }

    /// What to do after a signal.
    enum Effect: Equatable {
        case nothing
        case tell(UnitObservation)
        case look
        /// Tell it, and look for what signals do not contain.
        case tellAndLook(UnitObservation)
    }

    private enum State {
        /// It has not been read, or could not be read.
        case unknown
        /// These properties are known; `isInMemory`: whether the manager has it in memory, as far as is known.
        case known(UnitProperties, isInMemory: Bool)
    }

    private static let objects = "/org/freedesktop/systemd1/unit"

    /// The name that is followed, which may be an alias.
    let name: String
    /// The unit's own name, which signals carry.
    private var ownName: String
    private var state = State.unknown
    private var need: Need?

    init(_ name: String) {
        self.name = name
        ownName = name
    }

    // MARK: Names

    /// Whether signals about this name are about this unit.
    func isCalled(_ subject: String) -> Bool { subject == ownName || subject == name }

    /// The unit's object on the bus.
    var path: String {
        var path: UnsafeMutablePointer<CChar>?
        defer { free(path) }
        guard sd_bus_path_encode(Self.objects, name, &path) >= 0, let path else { return "/" }
        return String(cString: path)
    }

    /// The name of the unit with this object; nil if it is not a unit's.
    static func name(ofObject path: String?) -> String? {
        var name: UnsafeMutablePointer<CChar>?
        defer { free(name) }
        guard let path, sd_bus_path_decode(path, objects, &name) > 0, let name else { return nil }
        return String(cString: name)
    }

    // MARK: Reading

    /// Records that it must be read; returns whether it must be queued for that.
    func needs(_ more: Need) -> Bool {
        defer { need = need?.merged(with: more) ?? more }
        return need == nil
    }

    /// Begins to read it; a change from now on means that it must be read again.
    ///
    /// - Returns: how it must be read.
    func begin() -> Need? {
        defer { need = nil }
        return need
    }

    /// Whether it must be read although the manager does not have it in memory.
    func mustBeLoaded(for need: Need) -> Bool {
        if case (.look, .known(_, isInMemory: false)) = (need, state) { false } else { true }
    }

    /// Records all properties, and whether it was in memory before they were read.
    func know(_ values: [String: String], isInMemory: Bool) -> UnitObservation {
        if let id = values["Id"] { ownName = id }
        var properties = UnitProperties()
        properties.apply(values, isService: isService)
        if case .known(let former, _) = state { properties.keepKnowledge(of: former) }
        state = .known(properties, isInMemory: isInMemory)
        return .properties(properties)
    }

    /// Records why the manager does not report its properties.
    func refuse(_ reason: String) -> UnitObservation {
        state = .unknown
        return .unreachable(reason)
    }

    // MARK: Signals

    /// Records changed properties of one interface.
    ///
    /// The properties of the unit's type come first and the general ones right after them, so both are reported at once
    /// (systemd's src/core/dbus-unit.c).
    func change(_ values: [String: String], areGeneral: Bool) -> Effect {
        // Signals do not say whether a missing file can be loaded by now, or what it contains.
        guard case .known(var properties, let isInMemory) = state, isInMemory || properties.loadState == "loaded"
        else { return .look }
        let former = properties
        properties.apply(values, isService: isService)
        state = .known(properties, isInMemory: true)
        // Signals do not contain which condition failed, and how a command ended.
        if properties.failedCondition == "", properties.conditionsCheckedAt != former.conditionsCheckedAt {
            return .look
        }
        if areGeneral, properties.lacksExit { return .tellAndLook(.properties(properties)) }
        return areGeneral ? .tell(.properties(properties)) : .nothing
    }

    /// Records that it was not started; signals about its present state came before.
    func noteStart(_ failure: UnitProperties.StartFailure) -> Effect {
        guard case .known(var properties, let isInMemory) = state, properties.activeState == "inactive"
        else { return .nothing }
        properties.startFailure = failure
        state = .known(properties, isInMemory: isInMemory)
        return .tell(.properties(properties))
    }

    private var isService: Bool { ownName.hasSuffix(".service") }
}
