// SPDX-License-Identifier: Apache-2.0

/// Decides which identity gets its body next, and which error ends the call; performs no effects itself.
///
/// Each event returns the runner to resume outside the lock, if any.
struct LatestIdentityStateMachine<Identity: Equatable, Failure: Error>: ~Copyable {
    typealias Runner = CheckedContinuation<Void, Never>

    private enum State: ~Copyable {
        /// No identity has arrived since the last one was taken; the runner may be waiting.
        case idle(Runner?)
        /// The newest identity has not been taken.
        case pending(Identity)
        /// No more identities will come.
        ///
        /// The last identity may not have been taken; after a failure there is none.
        case ended(pending: Identity?, Failure?)
    }

    private var state: State
    /// The identity received last, whether or not its body has begun.
    private var newest: Identity?

    init() { self.init(.idle(nil), newest: nil) }

    private init(_ state: consuming State, newest: Identity?) {
        self.state = state
        self.newest = newest
    }

    /// Whether an identity waits to be taken.
    private var hasPending: Bool {
        switch state {
        case .pending: true
        case .ended(let pending, _): pending != nil
        case .idle: false
        }
    }

    /// The first error.
    var failure: Failure? {
        switch state {
        case .ended(_, let failure): failure
        default: nil
        }
    }

    /// Whether the body of the identity taken last must be cancelled.
    var mustCancelBody: Bool { hasPending || failure != nil }

    mutating func received(_ identity: Identity) -> Runner? {
        guard identity != newest else { return nil }
        switch consume state {
        case .idle(let runner):
            self = Self(.pending(identity), newest: identity)
            return runner
        case .pending:
            // The identity that was pending is superseded and never gets its body.
            self = Self(.pending(identity), newest: identity)
            return nil
        case .ended(let pending, let failure):
            // The task was cancelled, or a body failed, while this identity was on its way.
            self = Self(.ended(pending: pending, failure), newest: newest)
            return nil
        }
    }

    /// The sequence has ended; a pending identity still gets its body.
    mutating func finished() -> Runner? { end(keepingPending: true) }

    /// The calling task was cancelled.
    mutating func cancelled() -> Runner? { end(keepingPending: false) }

    /// The sequence threw an error.
    mutating func failed(_ error: Failure) -> Runner? { end(error, keepingPending: false) }

    /// A body threw an error, which does not count if the body was superseded.
    mutating func bodyFailed(_ error: Failure) -> Runner? { hasPending ? nil : failed(error) }

    private mutating func end(_ failure: Failure? = nil, keepingPending: Bool) -> Runner? {
        switch consume state {
        case .idle(let runner):
            self = Self(.ended(pending: nil, failure), newest: newest)
            return runner
        case .pending(let identity):
            self = Self(.ended(pending: keepingPending ? identity : nil, failure), newest: newest)
            return nil
        case .ended(let pending, let first):
            self = Self(.ended(pending: keepingPending ? pending : nil, first ?? failure), newest: newest)
            return nil
        }
    }

    /// The runner waits for a change; returns it if the change has already happened.
    mutating func wait(_ runner: Runner) -> Runner? {
        switch consume state {
        case .idle(let waiting):
            precondition(waiting == nil, "two runners wait for the same identities")
            self = Self(.idle(runner), newest: newest)
            return nil
        case .pending(let identity):
            self = Self(.pending(identity), newest: newest)
            return runner
        case .ended(let pending, let failure):
            self = Self(.ended(pending: pending, failure), newest: newest)
            return runner
        }
    }

    /// Takes the pending identity, if any.
    mutating func take() -> Identity? {
        switch consume state {
        case .idle(let runner):
            self = Self(.idle(runner), newest: newest)
            return nil
        case .pending(let identity):
            self = Self(.idle(nil), newest: newest)
            return identity
        case .ended(let pending, let failure):
            self = Self(.ended(pending: nil, failure), newest: newest)
            return pending
        }
    }
}
