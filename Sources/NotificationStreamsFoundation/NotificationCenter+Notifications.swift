// SPDX-License-Identifier: Apache-2.0

// Apple's Foundation has all of this.
#if !canImport(Darwin)
public import Foundation
public import NotificationStreams

extension NotificationCenter {
    /// Returns an asynchronous sequence of the notifications of one name, from one object or from any.
    ///
    /// This is `notifications(named:object:)` of Apple's Foundation, which Foundation for Linux lacks:
    /// ```swift
    /// let sequence = NotificationCenter.default.notifications(
    ///     named: .didUpdateStatus, object: server
    /// ).compactMap { $0.userInfo?["status"] as? String }
    /// for await value in sequence { … }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name of the notifications to follow.
    ///   - object: The object whose notifications to follow, or `nil` for all notifications, with any object or
    ///     none. The sequence and its iterators keep the object alive, because the center identifies objects by
    ///     their addresses: an observer that outlived its object could receive notifications of a new object at the
    ///     same address. For the same reason, a value type in a notification's `object` never matches.
    ///   - bufferingPolicy: Which notifications to keep while the consumer does not wait. The default keeps all of
    ///     them; a consumer that may fall behind and needs only the newest state should use `.bufferingNewest(1)`.
    ///     Apple's Foundation does not have this parameter.
    public func notifications(
        named name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil,
        bufferingPolicy: Notifications.BufferingPolicy = .unbounded
    ) -> Notifications {
        Notifications(center: self, name: name, object: object, bufferingPolicy: bufferingPolicy)
    }

    /// An asynchronous sequence of the notifications that a notification center posts.
    ///
    /// As on Apple's platforms, the observer is registered when the iterator is created. Every later post is
    /// delivered, even one made before the first call of `next()`. To miss nothing, create the iterator, read the
    /// current state, and then call `next()`. Each iterator has its own observer.
    ///
    /// The observer is removed together with its iterator, or when its task is cancelled: at once if the task waits
    /// in `next()`, or else at the next call. A cancelled task gets `nil` at once, even if notifications are
    /// buffered, and so does every later call of `next()`. (`AsyncStream` delivers its buffer first, so a consumer
    /// that was cancelled because another server was selected would still show the old server's status.)
    public struct Notifications: AsyncSequence, Sendable {
        /// A notification, as it was posted.
        public typealias Element = Notification
        /// The sequence never fails.
        public typealias Failure = Never

        /// Which notifications are kept while their consumer does not wait.
        public typealias BufferingPolicy = NotificationBufferingPolicy

        let center: NotificationCenter
        let name: Notification.Name
        let object: (any AnyObject & Sendable)?
        let bufferingPolicy: BufferingPolicy

        /// Registers an observer and returns the iterator that reads its notifications.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                subscription: NotificationSubscription(policy: bufferingPolicy) { storage in
                    let observer = center.addObserver(forName: name, object: object, queue: nil) {
                        storage.post(PostedNotification(notification: $0))
                    }
                    return Observation(center: center, observer: observer, object: object).end
                })
        }

        /// Reads one observer's notifications, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: NotificationSubscription

            /// Waits for the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> Notification? { await next(isolation: #isolation) }

            /// Waits for the next notification on the caller's actor; `nil` once the task is cancelled.
            ///
            /// If that actor has its own executor, a waiting task is resumed on the executor that it prefers, or
            /// else on the concurrent executor, and switches to the actor from there. Two concurrent calls are a
            /// programming error, which ends the program with a message.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                (await subscription.next(isolation: actor) as? PostedNotification)?.notification
            }
        }
    }
}

/// An iterator has one consumer; consumers can share the sequence.
@available(*, unavailable)
extension NotificationCenter.Notifications.Iterator: Sendable {}

/// A notification on its way from the thread that posted it to its consumer.
///
/// Unchecked: `Notification` is not Sendable on Linux, because its `object` and `userInfo` can hold anything.
/// Foundation itself passes one notification to observers on several threads, as do Apple's `Notifications`. The
/// value does not change on the way, and Foundation's documentation makes the poster responsible for an object that
/// is not safe to share.
private struct PostedNotification: @unchecked Sendable {
    let notification: Notification
}

/// A registered block observer, and the object that the center knows only by its address.
///
/// Unchecked: the observer is an opaque token, which is used once, to remove it.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol
    let object: (any AnyObject & Sendable)?

    @Sendable func end() { center.removeObserver(observer) }
}
#endif
