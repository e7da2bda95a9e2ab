// SPDX-License-Identifier: Apache-2.0

/// Decides when the service manager is called, when calls wait, and when its connection is given up; performs no effects itself.
///
/// The manager may leave the bus and come back (`daemon-reexec`, a restarted bus); it is waited for a while.
struct ManagerStateMachine: ~Copyable {
    /// A call that is under way.
    struct Call {
        fileprivate let owner: Int
        fileprivate let deadline: SuspendingClock.Instant
    }

    /// Why there is no answer from the manager.
    enum Silence: Equatable {
        /// The bus has no room for the call: any user can fill its queue for the manager.
        case refused
        /// There is no manager, for this reason.
        case absent(String)
    }

    /// What to do outside.
    enum Effect: Equatable {
        /// Ask the manager for signals.
        case subscribe
        case ping
        /// Ask for the states of all units.
        case list
        /// Report the end of this time by `timerFired`.
        case wait(Duration)
        case tell(ManagerSignal)
    }

    private enum State {
        /// Calls are made.
        case calling
        /// The bus has refused a call; others wait a moment.
        case refused
        /// There is no manager, for this reason; calls wait for it.
        case absent(String)
        case ended
    }

    /// Whether all units are being listed.
    private enum Listing {
        case none, underWay
        /// What is under way may be older than the moment that matters, so it will be followed by another list.
        case underWayAndDue
    }

    private let times: BusTimes
    private var state = State.calling
    /// How often the manager's name has changed hands; says which manager a call was made to.
    private var owner = 0
    /// Whether the manager, as it is now, could not be asked for signals, or failed to send them.
    private var isSubscriptionDue = false
    private var listing = Listing.none

    init(_ times: BusTimes) { self.times = times }

    /// Whether calls have to wait.
    var isPaused: Bool { if case .calling = state { false } else { true } }

    // MARK: Calls

    /// A call is made.
    func called(at now: SuspendingClock.Instant) -> Call { Call(owner: owner, deadline: now + times.answer) }

    /// The manager has answered.
    func answered(_ call: Call) -> [Effect] { isCurrent(call) ? [.tell(.works)] : [] }

    /// The manager has not answered.
    mutating func unanswered(_ call: Call, _ silence: Silence, at now: SuspendingClock.Instant) -> [Effect] {
        // A manager that executed itself takes the name before the bus notices that the old one is gone, with its calls.
        guard isCurrent(call) else { return [] }
        // A manager that is silent for so long is not waited for once more.
        if call.deadline <= now {
            return giveUp("the service manager does not answer within \(times.answer.components.seconds) s")
        }
        switch (silence, state) {
        case (.absent(let reason), _): return left("the service manager does not answer: \(reason)")
        case (.refused, .calling):
            state = .refused
            return [.wait(times.afterRefusal)]
        case (.refused, .refused), (.refused, .absent), (.refused, .ended): return []
        }
    }

    /// The manager has answered a subscription, or has to be asked again.
    mutating func subscribed(_ call: Call, isDue: Bool) {
        if isCurrent(call) { isSubscriptionDue = isDue }
    }

    private func isCurrent(_ call: Call) -> Bool {
        if case .ended = state { false } else { call.owner == owner }
    }

    // MARK: The manager

    /// The manager has left the bus.
    mutating func left(_ reason: String) -> [Effect] {
        switch state {
        case .calling, .refused:
            state = .absent(reason)
            return [.wait(times.absence)]
        case .absent, .ended: return []
        }
    }

    /// A manager has come to the bus, perhaps in the place of another one.
    mutating func arrived() -> [Effect] {
        if case .ended = state { return [] }
        owner += 1
        state = .calling
        return subscribe()
    }

    /// The time to wait is over.
    mutating func timerFired() -> [Effect] {
        switch state {
        case .refused:
            state = .calling
            return isSubscriptionDue ? subscribe() : [.tell(.resumed)]
        case .absent(let reason): return giveUp(reason)
        case .calling, .ended: return []
        }
    }

    /// The connection has ended, or is not needed any more.
    mutating func end() { state = .ended }

    private mutating func giveUp(_ reason: String) -> [Effect] {
        state = .ended
        return [.tell(.lost(reason))]
    }

    /// Asks for signals, and then for what may have been missed.
    private mutating func subscribe() -> [Effect] {
        isSubscriptionDue = false
        return [.subscribe, .tell(.reloaded)]
    }

    // MARK: What is asked

    /// A ping is due.
    mutating func pingDue() -> [Effect] {
        if isPaused { return [] }
        return (isSubscriptionDue ? subscribe() : []) + [.ping]
    }

    /// A list of all units is wanted, as they are now or later.
    mutating func listDue() -> [Effect] {
        if isPaused { return [] }
        defer { listing = listing == .none ? .underWay : .underWayAndDue }
        return listing == .none ? [.list] : []
    }

    /// A list has come, or will not come.
    mutating func listed() -> [Effect] {
        let isDue = listing == .underWayAndDue
        listing = .none
        return isDue ? listDue() : []
    }
}
