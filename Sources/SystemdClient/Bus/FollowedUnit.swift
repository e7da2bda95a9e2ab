// SPDX-License-Identifier: Apache-2.0

import CSystemd
import EventLoopIO
import Glibc

/// A unit that somebody follows: what is known of it, what is to be read, and who is told.
@EventLoop
final class FollowedUnit {
    let name: String
    /// The unit's object on the bus, by the name that it is followed by.
    let path: String
    private var question = QuestionStateMachine()
    /// Called when ``subjects`` have changed.
    var onRename: @EventLoop () -> Void = {}

    /// The unit's own name, where it is followed by another one, and its object: signals have these.
    private var ownName: String
    private var ownPath: String
    /// What is known, and whether the unit was loaded when it was read last.
    private var known: (properties: UnitProperties, wasLoaded: Bool)?
    private var observation: UnitObservation?
    private var followers: [UnitFollower] = []
    /// Whether a question is under way.
    var isReading: Bool { question.isAsked }
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

    /// Tells a follower what is known, if it does not know it yet.
    func tell(_ follower: UnitFollower) {
        if let observation { follower.tell(observation) }
    }

    // MARK: What is asked

    /// Whether something has to be asked now: not for a unit that nobody follows any more, nor before what is under way has been answered.
    var isToBeAsked: Bool { isFollowed && question.isDue }

    /// Asks for more; returns whether the unit has to get in line for it.
    func ask(_ more: QuestionStateMachine.Need) -> Bool { question.needs(more) }

    /// Begins with what has to be asked, and returns it.
    func begin() -> QuestionStateMachine.Need {
        let need = question.begin(at: .now)
        if need == .read { for follower in followers { follower.beginCalls() } }
        return need
    }

    /// Ends a question, which has to be put again if it was refused; returns whether the unit has to get in line.
    func end(isRefused: Bool = false) -> Bool {
        if isRefused { question.refused() } else { question.answered() }
        defer {
            // What was known before is told again only if it was right.
            if !isRefused { settle() }
        }
        return question.isDue
    }

    /// Takes over why nothing is known of it, if what was asked before this time has not been answered however often it was asked again.
    ///
    /// It goes on to be asked.
    func expire(askedBefore time: SuspendingClock.Instant, _ reason: String) {
        if question.isInVain(askedBefore: time) { refuse(reason) }
    }

    // MARK: What is known

    /// Whether it is in a list of all units that are loaded.
    func isListed(in units: [String: ListedStates]) -> Bool { units[ownName] != nil }

    /// Takes such a list over; returns whether the unit is another than was known, so that it has to be read.
    ///
    /// That it has failed is told at once: of hundreds that fail together, many wait to be read.
    func take(_ units: [String: ListedStates]) -> Bool {
        guard let properties = known?.properties else { return false }
        guard let states = units[ownName] else { return !isKnownAsUnloaded }
        if states == properties.states { return false }
        if states.activeState == "failed" {
            known?.properties.fail(states)
            settle()
        }
        return true
    }

    /// Whether it was not loaded when it was read last, and did not run since as far as is known.
    var isKnownAsUnloaded: Bool {
        guard let known, !known.wasLoaded else { return false }
        return ["inactive", "failed"].contains(known.properties.activeState)
    }

    /// Takes over everything that there is to know.
    func know(_ values: [String: String], wasLoaded: Bool) {
        if let id = values["Id"], id != ownName {
            ownName = id
            ownPath = Self.path(id)
            onRename()
        }
        var properties = UnitProperties()
        properties.apply(values, isService: isService)
        if let known { properties.keepStartFailure(of: known.properties) }
        known = (properties, wasLoaded)
        answer(.properties(properties))
    }

    /// Takes over why the manager tells nothing.
    func refuse(_ reason: String) {
        known = nil
        answer(.unreachable(reason))
    }

    /// Takes over why nothing can be asked; whatever is under way or in line has come to its end.
    func lose(_ reason: String) {
        question.lost()
        known = nil
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

    /// Takes over changes; returns whether the unit has to be read instead, before others.
    ///
    /// The type's own properties come first and the general ones at once after them, so that a follower can wait for these and see
    /// both change together (systemd's src/core/dbus-unit.c).
    func change(_ values: [String: String], interface: String, invalidated: [String]) -> Bool {
        // What is being read comes after the signal.
        guard known != nil else { return !isReading }
        guard UnitProperties.names.isDisjoint(with: invalidated) else { return true }
        known?.properties.apply(values, isService: isService)
        return interface == "org.freedesktop.systemd1.Unit" && !settle() && !isReading
    }

    /// Takes over that it was not started; the signals about what it is now came before.
    func noteStart(_ failure: UnitProperties.StartFailure) {
        guard known?.properties.activeState == "inactive" else { return }
        known?.properties.startFailure = failure
        settle()
    }

    /// Tells what has changed, unless more is about to be known: a unit that was not there before has states before it is read.
    ///
    /// How a run has ended is told at once: when it has been read, the manager may have forgotten that.
    ///
    /// - Returns: whether that was told.
    @discardableResult
    private func settle() -> Bool {
        guard let (properties, wasLoaded) = known,
            wasLoaded || question.isSettled || properties.isForgottenWhenFailed || properties.isEndOfRun
        else { return false }
        let observation = UnitObservation.properties(properties)
        self.observation = observation
        for follower in followers { follower.tell(observation) }
        return true
    }
}
