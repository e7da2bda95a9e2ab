// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decides for one iterator what happens to each notification; performs no effects itself.
struct NotificationStateMachine: ~Copyable {
    typealias Consumer = UnsafeContinuation<(any Sendable)?, Never>
    typealias Policy = NotificationBufferingPolicy

    private enum State: ~Copyable {
        /// No consumer waits.
        case buffering(Deque<any Sendable>)
        /// A consumer waits, so the buffer is empty; it is kept for its memory.
        case waiting(Consumer, Deque<any Sendable>)
        case finished
    }

    private let policy: Policy
    private var state: State

    init(policy: Policy) {
        switch policy {
        case .bufferingOldest(let limit), .bufferingNewest(let limit):
            precondition(limit >= 0, "a buffer of notifications cannot hold a negative number of them")
        case .unbounded: break
        }
        self.init(policy: policy, state: .buffering(Deque()))
    }

    private init(policy: Policy, state: consuming State) {
        self.policy = policy
        self.state = state
    }

    /// What to do with a notification that was posted.
    enum PostAction {
        case resume(Consumer)
        case keep
        /// Drop this notification outside the lock.
        case drop(any Sendable)
    }

    mutating func posted(_ posted: any Sendable) -> PostAction {
        switch consume state {
        case .waiting(let consumer, let buffer):
            self = Self(policy: policy, state: .buffering(buffer))
            return .resume(consumer)
        case .buffering(var buffer):
            let dropped = policy.append(posted, to: &buffer)
            self = Self(policy: policy, state: .buffering(buffer))
            return dropped.map { .drop($0) } ?? .keep
        case .finished:
            // The post may have looked up the observers just before this observer was removed.
            self = Self(policy: policy, state: .finished)
            return .drop(posted)
        }
    }

    /// What to do with a consumer that calls `next()`.
    enum NextAction {
        case deliver(any Sendable)
        case wait
        case finished
    }

    /// A consumer calls `next()`, and has no continuation yet.
    mutating func next() -> NextAction {
        switch consume state {
        case .buffering(var buffer):
            let posted = buffer.popFirst()
            self = Self(policy: policy, state: .buffering(buffer))
            return posted.map { .deliver($0) } ?? .wait
        case .waiting: Self.failForSecondConsumer()
        case .finished:
            self = Self(policy: policy, state: .finished)
            return .finished
        }
    }

    /// A consumer waits; a notification or the end may have arrived since it called `next()`.
    mutating func wait(_ consumer: Consumer) -> NextAction {
        switch consume state {
        case .buffering(var buffer):
            if let posted = buffer.popFirst() {
                self = Self(policy: policy, state: .buffering(buffer))
                return .deliver(posted)
            }
            self = Self(policy: policy, state: .waiting(consumer, buffer))
            return .wait
        case .waiting: Self.failForSecondConsumer()
        case .finished:
            self = Self(policy: policy, state: .finished)
            return .finished
        }
    }

    /// The consumer to resume with `nil`, and what to drop outside the lock.
    struct Ended {
        var consumer: Consumer?
        var dropped: Deque<any Sendable>?
    }

    mutating func finish() -> Ended {
        switch consume state {
        case .buffering(let buffer):
            self = Self(policy: policy, state: .finished)
            return Ended(dropped: buffer)
        case .waiting(let consumer, _):
            self = Self(policy: policy, state: .finished)
            return Ended(consumer: consumer)
        case .finished:
            self = Self(policy: policy, state: .finished)
            return Ended()
        }
    }

    private static func failForSecondConsumer() -> Never {
        fatalError(
            """
            next() was called on a notification iterator while another call was still waiting: an iterator has one \
            consumer; create an iterator for each
            """)
    }
}

/// Which notifications are kept while their consumer does not wait, as in `AsyncStream`.
///
/// A negative number stops the program when the iterator is created.
public enum NotificationBufferingPolicy: Sendable, Equatable {
    /// Keeps all notifications; memory grows with the consumer's backlog.
    case unbounded
    /// Keeps the oldest, up to this number, and drops those that arrive later.
    case bufferingOldest(Int)
    /// Keeps the newest, up to this number, and drops the oldest when another arrives.
    case bufferingNewest(Int)

    /// Appends an element to a buffer and returns the element that must be dropped for it, if any.
    func append<Element>(_ element: Element, to buffer: inout Deque<Element>) -> Element? {
        switch self {
        case .bufferingOldest(let limit) where buffer.count >= limit: return element
        case .bufferingNewest(let limit) where buffer.count >= limit:
            guard let oldest = buffer.popFirst() else { return element }  // a limit of zero
            buffer.append(element)
            return oldest
        case .unbounded, .bufferingOldest, .bufferingNewest:
            buffer.append(element)
            return nil
        }
    }
}
