// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One registered observer, which is removed when the subscription ends or is released.
///
/// What the observer calls holds the storage and not the subscription, so the subscription goes with its iterator.
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

    /// Waits for the next notification; `nil` once the subscription has ended, which a cancelled task causes.
    package func next(isolation actor: isolated (any Actor)?) async -> (any Sendable)? {
        // Before, so that a consumer that was cancelled while it was busy does not wait.
        guard !Task.isCancelled else {
            end()
            return nil
        }
        guard let posted = await storage.next(isolation: actor, onCancel: end) else { return nil }
        // After, because the task may have been cancelled when this one was handed over already and the task had not run yet.
        guard !Task.isCancelled else {
            end()
            return nil
        }
        return posted
    }

    /// Removes the observer, drops what is buffered and ends the wait for more; does nothing the second time.
    @Sendable private func end() {
        removeObserver.withLock { $0.take() }?()
        storage.finish()
    }
}
