// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension NotificationCenter.Notifications {
    /// Returns a sequence of what a closure makes of the notifications, without those of which it makes nothing.
    ///
    /// For a closure that does not wait, this takes the place of the standard library's `compactMap`, which is called in the
    /// same way. That one's closures may wait, and so run off the consumer's actor: there and back for each notification. This
    /// one's run where the consumer is, and what it makes is delivered under the same rules as the notifications.
    public func compactMap<Value>(
        _ transform: @escaping @Sendable (Notification) -> Value?
    ) -> CompactMap<Value> {
        CompactMap(base: self, transform: transform)
    }

    /// An asynchronous sequence of what a closure makes of notifications.
    public struct CompactMap<Value>: AsyncSequence, Sendable {
        /// What is delivered: the values the closure makes.
        public typealias Element = Value
        /// The sequence never fails.
        public typealias Failure = Never

        let base: NotificationCenter.Notifications
        let transform: @Sendable (Notification) -> Value?

        /// Registers an observer, and returns the iterator that reads what it hears.
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: base.makeAsyncIterator(), transform: transform)
        }

        /// Reads what the closure makes of the notifications one observer hears, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            var base: NotificationCenter.Notifications.Iterator
            let transform: @Sendable (Notification) -> Value?

            /// Waits for the next value; `nil` once the task is cancelled.
            public mutating func next() async -> Value? {
                await next(isolation: #isolation)
            }

            /// Waits for the next value on the caller's actor; `nil` once the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
                while let notification = await base.next(isolation: actor) {
                    if let value = transform(notification) {
                        return value
                    }
                }
                return nil
            }
        }
    }
}

/// An iterator is for one consumer; the sequence is what may be shared.
@available(*, unavailable)
extension NotificationCenter.Notifications.CompactMap.Iterator: Sendable {}
