// SPDX-License-Identifier: Apache-2.0

/// Decides when to call the service manager, when calls wait, and when to give up its connection.
///
/// The manager may leave the bus and come back (`daemon-reexec`, a restarted bus); the machine waits for it for a
/// while. It performs no effects itself.
struct ManagerStateMachine: ~Copyable {
    /// An unanswered call.
    struct Call {
        fileprivate let owner: Int
        fileprivate let deadline: SuspendingClock.Instant
    }

    /// Why the manager has not answered.
    enum Silence: Equatable {
        /// The bus has no room for the call; any user can fill its queue for the manager.
        case refused
        /// The manager is missing, for this reason.
        case absent(String)
    }

    /// What to do outside the machine.
    enum Effect: Equatable {
        /// Subscribe to the manager's signals.
        case subscribe
        case ping
        /// Request the states of all units.
        case list
        /// Report the end of this time by `timerFired`.
        case wait(Duration)
        case tell(ManagerSignal)
    }

    private enum State {
        /// Calls can be made.
        case calling
        /// The bus has refused a call; others wait a moment.
        case refused
        /// The manager is missing, for this reason; calls wait for it.
        case absent(String)
        case ended
    }

    /// Whether a list of all units has been requested.
    private enum Listing {
        case none, underWay
        /// The list may be older than the last request for it, so another one must follow.
        case underWayAndDue
    }

    private let times: BusTimes
    private var state = State.calling
    /// How often the manager's name has changed hands, which identifies the manager that a call was made to.
    private var owner = 0
    /// Whether this manager must be asked for signals again.
    private var isSubscriptionDue = false
    private var listing = Listing.none

    init(_ times: BusTimes) { self.times = times }

    /// Whether calls must wait.
    var isPaused: Bool { if case .calling = state { false } else { true } }

    // MARK: Calls

    /// A call is made.
    func called(at now: SuspendingClock.Instant) -> Call { Call(owner: owner, deadline: now + times.answer) }

    /// The manager has answered.
    func answered(_ call: Call) -> [Effect] { isCurrent(call) ? [.tell(.works)] : [] }

    /// The manager has not answered.
    mutating func unanswered(_ call: Call, _ silence: Silence, at now: SuspendingClock.Instant) -> [Effect] {
        // A manager that executes itself takes the name before the bus notices that its old connection, with its calls,
        // is gone.
        guard isCurrent(call) else { return [] }
        // A manager that was silent for so long gets no more time.
        if call.deadline <= now {
            return giveUp("the service manager did not answer within \(times.answer.components.seconds) s")
        }
        switch (silence, state) {
        case (.absent(let reason), _): return left("the service manager does not answer: \(reason)")
        case (.refused, .calling):
            state = .refused
            return [.wait(times.afterRefusal)]
        case (.refused, .refused), (.refused, .absent), (.refused, .ended): return []
        }
    }

    /// A subscription was answered; if `isDue`, it must be repeated.
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

    /// A manager has connected to the bus, perhaps in place of another one.
    mutating func arrived() -> [Effect] {
        if case .ended = state { return [] }
        owner += 1
        state = .calling
        return subscribe()
    }

    /// The wait is over.
    mutating func timerFired() -> [Effect] {
        switch state {
        case .refused:
            state = .calling
            return isSubscriptionDue ? subscribe() : [.tell(.resumed)]
        case .absent(let reason): return giveUp(reason)
        case .calling, .ended: return []
        }
    }

    /// The connection has ended.
    mutating func end() { state = .ended }

    private mutating func giveUp(_ reason: String) -> [Effect] {
        state = .ended
        return [.tell(.lost(reason))]
    }

    /// Subscribes, and then reads what may have been missed.
    private mutating func subscribe() -> [Effect] {
        isSubscriptionDue = false
        return [.subscribe, .tell(.reloaded)]
    }

    // MARK: Requests

    /// A ping is due.
    mutating func pingDue() -> [Effect] {
        if isPaused { return [] }
        return (isSubscriptionDue ? subscribe() : []) + [.ping]
    }

    /// Someone needs a list of all units that is taken after this moment.
    mutating func listDue() -> [Effect] {
        if isPaused { return [] }
        defer { listing = listing == .none ? .underWay : .underWayAndDue }
        return listing == .none ? [.list] : []
    }

    /// A list has come or failed.
    mutating func listed() -> [Effect] {
        let isDue = listing == .underWayAndDue
        listing = .none
        return isDue ? listDue() : []
    }
}
