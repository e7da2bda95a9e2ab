// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Passes notifications from an observer to an iterator.
package final class NotificationStorage: Sendable {
    private let machine: Mutex<NotificationStateMachine>

    init(policy: NotificationBufferingPolicy) { machine = Mutex(NotificationStateMachine(policy: policy)) }

    /// Gives a notification to a waiting consumer, or keeps it.
    package func post(_ posted: any Sendable) {
        switch machine.withLock({ $0.posted(posted) }) {
        case .resume(let consumer): consumer.resume(returning: posted)
        case .drop, .keep: break
        }
    }

    /// Takes the next notification, or waits for one; `nil` once finished.
    ///
    /// - Parameter onCancel: Called when the task is cancelled while it waits; must call `finish()`.
    func next(
        isolation actor: isolated (any Actor)?, onCancel: @Sendable () -> Void
    ) async -> (any Sendable)? {
        // This saves the cost of a cancellation handler if a notification is buffered.
        switch machine.withLock({ $0.next() }) {
        case .deliver(let posted): return posted
        case .finished: return nil
        case .wait: break
        }
        return await withTaskCancellationHandler(
            operation: {
                // Unsafe, because a checked continuation costs an allocation for each notification. The state machine
                // returns each continuation once, so it is resumed once.
                await withUnsafeContinuation(isolation: actor) { consumer in
                    switch machine.withLock({ $0.wait(consumer) }) {
                    case .deliver(let posted): consumer.resume(returning: posted)
                    case .finished: consumer.resume(returning: nil)
                    case .wait: break
                    }
                }
            }, onCancel: onCancel, isolation: actor)
    }

    /// Ends the sequence: drops the buffer, and a waiting consumer gets `nil`.
    func finish() {
        // The dropped buffer is released at the end of this scope, outside the lock: it may hold the last reference to
        // an object whose deinit runs the user's code.
        let ended = machine.withLock { $0.finish() }
        ended.consumer?.resume(returning: nil)
    }
}
