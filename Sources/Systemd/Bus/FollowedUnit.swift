// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// A unit that somebody follows: what is known of it, what is to be read, and who is told.
@EventLoop
final class FollowedUnit {
    /// What has to be asked of the manager.
    enum Need: Int, Comparable {
        case nothing
        /// Whether the unit is loaded; the rest only where that matters.
        case look
        /// Everything.
        case read

        static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
    }

    let name: String
    /// The unit's object on the bus, by the name that it is followed by.
    let path: String
    /// What has to be asked as soon as nothing is being read.
    private var need = Need.nothing
    /// Whether a question is under way; there is never more than one.
    private var isReading = false
    /// Called when ``subjects`` have changed.
    var onRename: @EventLoop () -> Void = {}
    /// Whether the unit was loaded when it was read last.
    private(set) var wasLoaded = false

    /// The unit's own name, where it is followed by another one, and its object: signals have these.
    private var ownName: String
    private var ownPath: String
    private var properties: UnitProperties?
    private var observation: UnitObservation?
    private var followers: [UnitFollower] = []
    private var isService: Bool { ownName.hasSuffix(".service") }

    init(_ name: String) {
        self.name = name
        path = Self.path(name)
        ownName = name
        ownPath = path
    }

    private static func path(_ name: String) -> String {
        var encoded: UnsafeMutablePointer<CChar>?
        defer { free(encoded) }
        guard sd_bus_path_encode("/org/freedesktop/systemd1/unit", name, &encoded) >= 0, let encoded else { return "/" }
        return String(cString: encoded)
    }

    // MARK: Who is told

    var isFollowed: Bool { !followers.isEmpty }

    func add(_ follower: UnitFollower) { followers.append(follower) }

    func remove(_ follower: UnitFollower) { followers.removeAll { $0 === follower } }

    /// Tells what is known to those who do not know it yet.
    func tell() {
        guard let observation else { return }
        for follower in followers { follower.tell(observation) }
    }

    // MARK: What is asked

    /// Asks for more; returns whether the unit has to get in line for it.
    func ask(_ more: Need) -> Bool {
        defer { need = max(need, more) }
        return need == .nothing && !isReading
    }

    /// Begins with what has to be asked, and returns it.
    func begin() -> Need {
        defer { need = .nothing }
        isReading = true
        if need == .read { for follower in followers { follower.beginCalls() } }
        return need
    }

    /// Ends a question, which may have to be put again; returns whether the unit has to get in line.
    func end(again: Need) -> Bool {
        isReading = false
        need = max(need, again)
        settle()
        return need > .nothing
    }

    // MARK: What is known

    /// Takes over everything that there is to know.
    func know(_ values: [String: String], wasLoaded: Bool) {
        self.wasLoaded = wasLoaded
        if let id = values["Id"], id != ownName {
            ownName = id
            ownPath = Self.path(id)
            onRename()
        }
        var properties = UnitProperties()
        properties.apply(values, isService: isService)
        self.properties = properties
        answer(.properties(properties))
    }

    /// Takes over why the manager tells nothing.
    func refuse(_ reason: String) {
        properties = nil
        answer(.unreachable(reason))
    }

    /// Takes over why nothing can be asked; whatever is under way or in line has come to its end.
    func lose(_ reason: String) {
        isReading = false
        need = .nothing
        properties = nil
        observation = .unreachable(reason)
        answer()
    }

    /// Answers all who wait for a reading with what is known; they go on waiting where nothing is known yet.
    func answer() {
        guard let observation else { return }
        for follower in followers { follower.beginCalls() }
        answer(observation)
    }

    private func answer(_ observation: UnitObservation) {
        self.observation = observation
        for follower in followers { follower.answer(observation) }
    }

    // MARK: What is signalled

    /// What signals may call it: names and objects.
    var subjects: Set<String> { [name, path, ownName, ownPath] }

    /// Takes over changes; returns whether the unit has to be read instead.
    ///
    /// The type's own properties come first and the general ones at once after them, so that a follower can wait for these and see
    /// both change together (systemd's src/core/dbus-unit.c).
    func change(_ values: [String: String], interface: String, invalidated: [String]) -> Bool {
        // What is being read comes after the signal.
        guard var properties else { return !isReading }
        guard UnitProperties.names.isDisjoint(with: invalidated) else { return true }
        properties.apply(values, isService: isService)
        self.properties = properties
        if interface == "org.freedesktop.systemd1.Unit" { settle() }
        return false
    }

    /// Tells what has changed, unless more is about to be known: a unit that was not there before has states before it is read.
    ///
    /// How a unit has ended that the manager forgets is told at once: when it has been read, nobody knows.
    private func settle() {
        guard let properties, wasLoaded || !isReading && need == .nothing || properties.isForgottenWhenFailed
        else { return }
        observation = .properties(properties)
        tell()
    }
}
