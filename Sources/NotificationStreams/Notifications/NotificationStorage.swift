// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A notification on its way from the thread that posted it to its consumer.
///
/// `Notification` is not Sendable on Linux, since its `object` and `userInfo` can hold anything. Foundation itself hands one
/// and the same to observers on whatever threads they listen, and Apple's `Notifications` does as this one; the value
/// is not changed on the way, and who posts an object that is not safe to share is told so by Foundation's documentation.
struct PostedNotification: @unchecked Sendable {
    let notification: Notification
}

/// What is between the observer, which puts notifications in, and the iterator, which takes them out.
final class NotificationStorage: Sendable {
    private let machine: Mutex<NotificationStateMachine>

    init(policy: NotificationCenter.Notifications.BufferingPolicy) {
        machine = Mutex(NotificationStateMachine(policy: policy))
    }

    /// Hands a notification to the consumer who waits, or keeps it for the one who will.
    func post(_ posted: PostedNotification) {
        switch machine.withLock({ $0.posted(posted) }) {
        case .resume(let consumer):
            consumer.resume(returning: posted)
        case .drop, .keep:
            break
        }
    }

    /// Takes the next notification, or waits for it; `nil` once finished.
    ///
    /// - Parameter onCancel: Called when the task is cancelled while it waits; is to call `finish()`.
    func next(
        isolation actor: isolated (any Actor)?, onCancel: @Sendable () -> Void
    ) async -> PostedNotification? {
        // What is there already is taken without the cost of a cancellation handler.
        switch machine.withLock({ $0.next() }) {
        case .deliver(let posted):
            return posted
        case .finished:
            return nil
        case .wait:
            break
        }
        return await withTaskCancellationHandler(
            operation: {
                // Unsafe, because a checked one costs an allocation for each notification. That it is resumed once is the
                // state machine's doing: whoever gets it out of there has taken it out.
                await withUnsafeContinuation(isolation: actor) { consumer in
                    switch machine.withLock({ $0.wait(consumer) }) {
                    case .deliver(let posted):
                        consumer.resume(returning: posted)
                    case .finished:
                        consumer.resume(returning: nil)
                    case .wait:
                        break
                    }
                }
            }, onCancel: onCancel, isolation: actor)
    }

    /// Ends the sequence: what is buffered is dropped, and a consumer who waits gets `nil`.
    func finish() {
        // What is dropped goes at the end of this scope, outside the lock: it may be the last reference to an object
        // whose deinit does anything at all.
        let ended = machine.withLock { $0.finish() }
        ended.consumer?.resume(returning: nil)
    }
}
