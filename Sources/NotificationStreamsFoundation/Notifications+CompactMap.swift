// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
public import Foundation

extension NotificationCenter.Notifications {
    /// Returns a sequence of the values that a closure creates from the notifications, without `nil`.
    ///
    /// For a synchronous closure, this replaces the standard library's `compactMap`, which is called in the same
    /// way. The standard library runs its asynchronous closures off the consumer's actor, with two
    /// switches for each notification. This closure runs on the consumer's actor, and its values are delivered
    /// under the same rules as the notifications.
    public func compactMap<Value>(
        _ transform: @escaping @Sendable (Notification) -> Value?
    ) -> CompactMap<Value> {
        CompactMap(base: self, transform: transform)
    }

    /// An asynchronous sequence of the values that a closure creates from notifications.
    public struct CompactMap<Value>: AsyncSequence, Sendable {
        /// A value that the closure created.
        public typealias Element = Value
        /// The sequence never fails.
        public typealias Failure = Never

        let base: NotificationCenter.Notifications
        let transform: @Sendable (Notification) -> Value?

        /// Registers an observer and returns the iterator that reads its values.
        public func makeAsyncIterator() -> Iterator {
            Iterator(base: base.makeAsyncIterator(), transform: transform)
        }

        /// Reads the values created from one observer's notifications, for one consumer.
        public struct Iterator: AsyncIteratorProtocol {
            var base: NotificationCenter.Notifications.Iterator
            let transform: @Sendable (Notification) -> Value?

            /// Waits for the next value; `nil` once the task is cancelled.
            public mutating func next() async -> Value? { await next(isolation: #isolation) }

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

/// An iterator has one consumer; consumers can share the sequence.
@available(*, unavailable)
extension NotificationCenter.Notifications.CompactMap.Iterator: Sendable {}
#endif
