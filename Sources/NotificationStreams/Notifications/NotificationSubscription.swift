// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One registered observer, which is removed when the subscription ends or is released.
///
/// The observer holds the storage but not the subscription, so the subscription lives only as long as its iterator.
package final class NotificationSubscription: Sendable {
    package let storage: NotificationStorage
    /// Removes the observer; `nil` once it has been removed.
    private let removeObserver: Mutex<(@Sendable () -> Void)?>

    /// Registers an observer.
    ///
    /// - Parameters:
    ///   - policy: What to keep while the consumer does not wait.
    ///   - addObserver: Registers an observer that posts to the storage, and returns a function that removes it.
    package init(
        policy: NotificationBufferingPolicy, _ addObserver: (NotificationStorage) -> @Sendable () -> Void
    ) {
        let storage = NotificationStorage(policy: policy)
        self.storage = storage
        removeObserver = Mutex(addObserver(storage))
    }

    deinit { end() }

    /// Waits for the next notification; `nil` once the subscription has ended.
    ///
    /// Cancelling the task ends the subscription.
    package func next(isolation actor: isolated (any Actor)?) async -> (any Sendable)? {
        // Checked before, so that a consumer that was cancelled while it was busy does not wait.
        guard !Task.isCancelled else {
            end()
            return nil
        }
        guard let posted = await storage.next(isolation: actor, onCancel: end) else { return nil }
        // Checked after, because the task may have been cancelled between being resumed with this notification and
        // running.
        guard !Task.isCancelled else {
            end()
            return nil
        }
        return posted
    }

    /// Removes the observer, drops the buffer and ends the wait for more; does nothing the second time.
    @Sendable private func end() {
        removeObserver.withLock { $0.take() }?()
        storage.finish()
    }
}
