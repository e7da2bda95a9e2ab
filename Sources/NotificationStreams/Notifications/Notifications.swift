// SPDX-License-Identifier: Apache-2.0

extension NotificationBus {
    /// An asynchronous sequence of the user info of a bus's notifications.
    ///
    /// The observer is registered when the iterator is created. Every later post reaches its buffer, even one made
    /// before the first call of `next()`. To miss nothing, create the iterator, read the current state, and then call
    /// `next()`. Each iterator has its own observer.
    ///
    /// The observer is removed together with its iterator, or when its task is cancelled: at once if the task waits in
    /// `next()`, or else at the next call. A cancelled task gets `nil` at once, even if notifications are buffered.
    /// (`AsyncStream` delivers its buffer first, so a consumer that was cancelled because another server was selected
    /// would still show the old server's status.)
    public struct Notifications<UserInfo: Sendable>: AsyncSequence, Sendable {
        /// The user info of the notifications.
        public typealias Element = UserInfo
        /// The sequence never fails.
        public typealias Failure = Never

        let bus: NotificationBus
        let object: (any AnyObject & Sendable)?
        let bufferingPolicy: NotificationBufferingPolicy

        /// Registers an observer and returns the iterator that reads its notifications.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                subscription: NotificationSubscription(policy: bufferingPolicy) {
                    bus.addObserver(of: UserInfo.self, object: object, $0)
                })
        }

        /// Reads one observer's notifications, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: NotificationSubscription

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> UserInfo? { await next(isolation: #isolation) }

            /// Waits for the next notification on the caller's actor; `nil` once the task is cancelled.
            ///
            /// If that actor has its own executor, a waiting task is resumed on the executor that it prefers, or else
            /// on the concurrent executor, and switches to the actor from there. Two concurrent calls are a programming
            /// error, which ends the program with a message.
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

/// An iterator has one consumer; consumers can share the sequence.
@available(*, unavailable)
extension NotificationBus.Notifications.Iterator: Sendable {}
