// SPDX-License-Identifier: Apache-2.0

extension NotificationBus {
    /// An asynchronous sequence of what the notifications of a bus carry.
    ///
    /// The observer is registered when the iterator is made. What is posted from then on is delivered, even if it is posted
    /// before the first call of `next()`. So make the iterator, read the current state, then call `next()`: nothing is missed
    /// in between. Each iterator has an observer of its own.
    ///
    /// The observer is removed with its iterator, or when its task is cancelled: at once if the task waits in `next()`, else at
    /// the next call. A cancelled task gets `nil` at once, whatever is buffered. (`AsyncStream` delivers its buffer first, so a
    /// consumer that was cancelled because another server was selected would still show statuses of the old one.)
    public struct Notifications<UserInfo: Sendable>: AsyncSequence, Sendable {
        /// What is delivered: what the notifications carry.
        public typealias Element = UserInfo
        /// The sequence never fails.
        public typealias Failure = Never

        let bus: NotificationBus
        let object: (any AnyObject & Sendable)?
        let bufferingPolicy: NotificationBufferingPolicy

        /// Registers an observer and returns the iterator that reads what it receives.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                subscription: NotificationSubscription(policy: bufferingPolicy) {
                    bus.addObserver(of: UserInfo.self, object: object, $0)
                })
        }

        /// Reads what one observer receives, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: NotificationSubscription

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> UserInfo? {
                await next(isolation: #isolation)
            }

            /// Waits for the next notification on the caller's actor; `nil` once the task is cancelled.
            ///
            /// If that actor has an executor of its own, a task that waited is woken on the executor it prefers, or else on the
            /// concurrent one, and goes to the actor from there. Two calls at the same time are a programming error, and end the
            /// program with a message that says so.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> UserInfo? {
                guard let posted = await subscription.next(isolation: actor) else { return nil }
                guard let userInfo = posted as? UserInfo else {
                    preconditionFailure("an observer of \(UserInfo.self) received a \(type(of: posted))")
                }
                return userInfo
            }
        }
    }
}

/// An iterator is for one consumer; the sequence is what may be shared.
@available(*, unavailable)
extension NotificationBus.Notifications.Iterator: Sendable {}
