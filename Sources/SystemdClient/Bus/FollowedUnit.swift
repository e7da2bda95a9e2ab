// SPDX-License-Identifier: Apache-2.0

import CSystemd
import EventLoopIO
import Glibc

/// A followed unit: what is known about it, what to read, and its followers.
@EventLoop
final class FollowedUnit {
    let name: String
    /// The unit's object on the bus, by the name that is followed.
    let path: String
    private var question = QuestionStateMachine()
    /// Called when ``subjects`` have changed.
    var onRename: @EventLoop () -> Void = {}

    /// The unit's own name and object, which signals carry.
    ///
    /// The followed name may be an alias.
    private var ownName: String
    private var ownPath: String
    /// What is known, and whether the unit was loaded when it was last read.
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

    // MARK: Followers

    var isFollowed: Bool { !followers.isEmpty }

    func add(_ follower: UnitFollower) { followers.append(follower) }

    func remove(_ follower: UnitFollower) { followers.removeAll { $0 === follower } }

    /// Tells a follower what is known, unless it was told before.
    func tell(_ follower: UnitFollower) {
        if let observation { follower.tell(observation) }
    }

    // MARK: Requests

    /// Whether to ask about the unit now: it is followed, a question is due, and none is unanswered.
    var isToBeAsked: Bool { isFollowed && question.isDue }

    /// Requests an answer to a question; returns whether the unit must be queued for it.
    func ask(_ more: QuestionStateMachine.Need) -> Bool { question.needs(more) }

    /// Begins the question that is due, and returns it.
    func begin() -> QuestionStateMachine.Need {
        let need = question.begin(at: .now)
        if need == .read { for follower in followers { follower.beginCalls() } }
        return need
    }

    /// Ends a question, which must be repeated if it was refused; returns whether the unit must be queued.
    func end(isRefused: Bool = false) -> Bool {
        if isRefused { question.refused() } else { question.answered() }
        defer {
            // After a refusal, what was known may be wrong, so it is not told again.
            if !isRefused { settle() }
        }
        return question.isDue
    }

    /// Records that nothing is known, if a question asked before this time was refused each time it was repeated.
    ///
    /// The question is still repeated.
    func expire(askedBefore time: SuspendingClock.Instant, _ reason: String) {
        if question.isInVain(askedBefore: time) { refuse(reason) }
    }

    // MARK: State

    /// Whether a list of all loaded units contains it.
    func isListed(in units: [String: ListedStates]) -> Bool { units[ownName] != nil }

    /// Compares a list of all loaded units with what is known; returns whether the unit must be read.
    ///
    /// A failure is told at once: if hundreds of units fail together, many wait to be read.
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

    /// Whether it was not loaded when it was last read, and has not run since, as far as is known.
    var isKnownAsUnloaded: Bool {
        guard let known, !known.wasLoaded else { return false }
        return ["inactive", "failed"].contains(known.properties.activeState)
    }

    /// Records all properties of the unit.
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

    /// Records why the manager gives no answer.
    func refuse(_ reason: String) {
        known = nil
        answer(.unreachable(reason))
    }

    /// Records why no question can be asked, and ends the question that is due or unanswered.
    func lose(_ reason: String) {
        question.lost()
        known = nil
        observation = .unreachable(reason)
        answer()
    }

    /// Answers all waiting calls; does nothing if nothing is known yet.
    func answer() {
        guard let observation else { return }
        for follower in followers { follower.beginCalls() }
        answer(observation)
    }

    private func answer(_ observation: UnitObservation) {
        self.observation = observation
        for follower in followers { follower.answer(observation) }
    }

    // MARK: Signals

    /// The names and objects by which signals may refer to it.
    var subjects: Set<String> { [name, path, ownName, ownPath] }

    /// Records changed properties; returns whether the unit must be read before others, because the signal was not
    /// enough.
    ///
    /// The properties of the unit's type come first and the general ones right after them, so a follower sees both
    /// change together (systemd's src/core/dbus-unit.c).
    func change(_ values: [String: String], interface: String, invalidated: [String]) -> Bool {
        // A reading that is under way is newer than the signal.
        guard known != nil else { return !isReading }
        guard UnitProperties.names.isDisjoint(with: invalidated) else { return true }
        known?.properties.apply(values, isService: isService)
        return interface == "org.freedesktop.systemd1.Unit" && !settle() && !isReading
    }

    /// Records that the unit was not started; signals about its present state came before.
    func noteStart(_ failure: UnitProperties.StartFailure) {
        guard known?.properties.activeState == "inactive" else { return }
        known?.properties.startFailure = failure
        settle()
    }

    /// Tells followers what has changed, unless a reading will tell more: a unit that was just loaded has states before
    /// it is read.
    ///
    /// How a run has ended is told at once, because the manager may have forgotten it when the unit is read.
    ///
    /// - Returns: whether followers were told.
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
