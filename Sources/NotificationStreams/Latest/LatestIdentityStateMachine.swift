// SPDX-License-Identifier: Apache-2.0

/// Decides which identity is the next to have its body run; does nothing itself.
///
/// Each event returns who is to be resumed, outside the lock.
struct LatestIdentityStateMachine<Identity: Equatable>: ~Copyable {
    typealias Runner = CheckedContinuation<Void, Never>

    private enum State: ~Copyable {
        /// The newest identity has been taken, or there was none yet.
        case idle
        /// As idle, and somebody waits for another.
        case waiting(Runner)
        /// The newest identity has not been taken.
        case pending(Identity)
        /// No more will come, and the last one may not have been taken.
        case finished(pending: Identity?)
    }

    private var state: State
    /// The newest identity received, which the next is compared with, whether its body ran, runs, or never will.
    private var newest: Identity?

    init() {
        self.init(state: .idle, newest: nil)
    }

    private init(state: consuming State, newest: Identity?) {
        self.state = state
        self.newest = newest
    }

    /// Whether an identity has come that has not been taken.
    var hasPending: Bool {
        switch state {
        case .pending: true
        case .finished(let pending): pending != nil
        default: false
        }
    }

    mutating func received(_ identity: Identity) -> Runner? {
        guard identity != newest else { return nil }
        switch consume state {
        case .idle:
            self = Self(state: .pending(identity), newest: identity)
            return nil
        case .pending:
            // The one that waited is superseded, and never begins.
            self = Self(state: .pending(identity), newest: identity)
            return nil
        case .waiting(let runner):
            self = Self(state: .pending(identity), newest: identity)
            return runner
        case .finished(let pending):
            // The task was cancelled while this one was on its way.
            self = Self(state: .finished(pending: pending), newest: newest)
            return nil
        }
    }

    mutating func finished() -> Runner? {
        switch consume state {
        case .idle:
            self = Self(state: .finished(pending: nil), newest: newest)
            return nil
        case .waiting(let runner):
            self = Self(state: .finished(pending: nil), newest: newest)
            return runner
        case .pending(let identity):
            self = Self(state: .finished(pending: identity), newest: newest)
            return nil
        case .finished(let pending):
            self = Self(state: .finished(pending: pending), newest: newest)
            return nil
        }
    }

    /// The task is cancelled: as finished, and what has not been taken never will be.
    mutating func cancelled() -> Runner? {
        let runner = finished()
        self = Self(state: .finished(pending: nil), newest: newest)
        return runner
    }

    /// Somebody waits for a change; returned when there is one already.
    mutating func wait(_ runner: Runner) -> Runner? {
        switch consume state {
        case .idle:
            self = Self(state: .waiting(runner), newest: newest)
            return nil
        case .waiting:
            fatalError("two loops wait for the same identities")
        case .pending(let identity):
            self = Self(state: .pending(identity), newest: newest)
            return runner
        case .finished(let pending):
            self = Self(state: .finished(pending: pending), newest: newest)
            return runner
        }
    }

    mutating func take() -> Identity? {
        switch consume state {
        case .idle:
            self = Self(state: .idle, newest: newest)
            return nil
        case .waiting(let runner):
            self = Self(state: .waiting(runner), newest: newest)
            return nil
        case .pending(let identity):
            self = Self(state: .idle, newest: newest)
            return identity
        case .finished(let pending):
            self = Self(state: .finished(pending: nil), newest: newest)
            return pending
        }
    }
}
