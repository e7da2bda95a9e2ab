// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// One registered observer, which is removed when the subscription ends or goes.
///
/// The observer's block holds the storage and not the subscription, so that the subscription goes with the iterator.
final class NotificationSubscription: Sendable {
    private let center: NotificationCenter
    /// Held as long as the observer, which knows its object by address only.
    private let object: (any AnyObject & Sendable)?
    let storage: NotificationStorage
    private let observer: Mutex<(any NSObjectProtocol)?>

    init(to notifications: NotificationCenter.Notifications) {
        let storage = NotificationStorage(policy: notifications.bufferingPolicy)
        self.center = notifications.center
        self.object = notifications.object
        self.storage = storage
        self.observer = Mutex(
            notifications.center.addObserver(forName: notifications.name, object: notifications.object, queue: nil) {
                storage.post(PostedNotification(notification: $0))
            })
    }

    deinit {
        end()
    }

    /// Waits for the next notification; `nil` once the subscription has ended, which the task's cancelling does.
    func next(isolation actor: isolated (any Actor)?) async -> PostedNotification? {
        // Before, so that a consumer who was cancelled while it was busy does not wait; after, because it may have been
        // cancelled when this one had been handed over already, and had not come to run.
        guard !Task.isCancelled else {
            end()
            return nil
        }
        guard let posted = await storage.next(isolation: actor, onCancel: end) else { return nil }
        guard !Task.isCancelled else {
            end()
            return nil
        }
        return posted
    }

    /// Removes the observer, drops what is buffered and ends the wait for more; harmless when done already.
    @Sendable private func end() {
        if let observer = observer.withLock({ $0.take() }) {
            center.removeObserver(observer)
        }
        storage.finish()
    }
}
