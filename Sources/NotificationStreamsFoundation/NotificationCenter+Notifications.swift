// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import NotificationStreams

extension NotificationCenter {
    /// Returns an asynchronous sequence of the notifications of one name, from one object or from any.
    ///
    /// This is `notifications(named:object:)` of Apple's Foundation, in the same spelling; Foundation for Linux lacks it:
    /// ```swift
    /// let sequence = NotificationCenter.default.notifications(
    ///     named: .didUpdateStatus, object: server
    /// ).compactMap { $0.userInfo?["status"] as? String }
    /// for await value in sequence { … }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name of the notifications to follow.
    ///   - object: The object whose notifications to follow; `nil` for those of any object, and those of none. The
    ///     sequence and its iterators keep the object alive: observers are told apart by their object's address, and one
    ///     that outlived its object would hear the next object that happens to come to lie there. For the same reason a
    ///     value type in a notification's `object` never matches.
    ///   - bufferingPolicy: What becomes of notifications that come while nobody waits for one. The default keeps them
    ///     all, so that none is lost; a consumer that may fall behind for long, and to whom only the newest state
    ///     matters, takes `.bufferingNewest(1)`.
    public func notifications(
        named name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil,
        bufferingPolicy: Notifications.BufferingPolicy = .unbounded
    ) -> Notifications {
        Notifications(center: self, name: name, object: object, bufferingPolicy: bufferingPolicy)
    }

    /// An asynchronous sequence of the notifications that a notification center posts.
    ///
    /// The observer is registered when the iterator is made, as on Apple's platforms: what is posted from then on is
    /// delivered, also when it is posted before the first call of `next()`. So make the iterator, then read the current
    /// state, then go on with `next()`, and nothing is missed between. Each iterator has an observer of its own.
    ///
    /// The observer is removed when the iterator goes, or when its task is cancelled: at once if it waits in `next()`,
    /// else at the next call of it. A cancelled task gets `nil` at once, whatever is still buffered, and so does everyone
    /// after it. (`AsyncStream` would deliver what is buffered first: a consumer that was cancelled because another
    /// server was selected would still show the old one's statuses.)
    public struct Notifications: AsyncSequence, Sendable {
        /// What is delivered: the notifications as they were posted.
        public typealias Element = Notification
        /// The sequence never fails.
        public typealias Failure = Never

        /// What is kept of the notifications that arrive while their consumer does not wait.
        public typealias BufferingPolicy = NotificationBufferingPolicy

        let center: NotificationCenter
        let name: Notification.Name
        let object: (any AnyObject & Sendable)?
        let bufferingPolicy: BufferingPolicy

        /// Registers an observer, and returns the iterator that reads what it hears.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                subscription: NotificationSubscription(policy: bufferingPolicy) { storage in
                    let observer = center.addObserver(forName: name, object: object, queue: nil) {
                        storage.post(PostedNotification(notification: $0))
                    }
                    return Observation(center: center, observer: observer, object: object).end
                })
        }

        /// Reads the notifications one observer hears, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: NotificationSubscription

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> Notification? {
                await next(isolation: #isolation)
            }

            /// Waits for the next notification on the caller's actor; `nil` once the task is cancelled.
            ///
            /// Where that actor has an executor of its own, a task that waited is woken on the executor the task prefers, else on
            /// the concurrent one, and only from there goes to the actor's. Two calls at the same time are a programming error,
            /// and end the program with a message that says so.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                (await subscription.next(isolation: actor) as? PostedNotification)?.notification
            }
        }
    }
}

/// An iterator is for one consumer; the sequence is what may be shared.
@available(*, unavailable)
extension NotificationCenter.Notifications.Iterator: Sendable {}

/// A notification on its way from the thread that posted it to its consumer.
///
/// Unchecked: `Notification` is not Sendable on Linux, because its `object` and `userInfo` can hold anything. Foundation itself
/// hands one notification to observers on several threads, and so does Apple's `Notifications`. The value is not changed on
/// the way, and Foundation's documentation tells whoever posts an object that is not safe to share.
private struct PostedNotification: @unchecked Sendable {
    let notification: Notification
}

/// A registered block observer, together with the object that it knows by its address only.
///
/// Unchecked: the observer is an opaque token, which is used once, to remove it.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol
    let object: (any AnyObject & Sendable)?

    @Sendable func end() { center.removeObserver(observer) }
}
