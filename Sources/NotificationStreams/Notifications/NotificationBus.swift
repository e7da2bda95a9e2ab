// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Delivers notifications from objects that post them to the sequences that follow those objects.
///
/// It works as Foundation's `NotificationCenter` does, with three differences. User info is typed; observers are asynchronous
/// sequences; and a program that uses it needs no Foundation.
/// ```swift
/// for await update in bus.notifications(named: .didUpdateStatus, object: server) {
///     show(update.status)
/// }
/// ```
/// A post finds its observers by one look-up of the object. A post that nobody observes allocates nothing and does not make
/// its user info.
public final class NotificationBus: Sendable {
    /// The bus for parts of a program that share no other.
    public static let `default` = NotificationBus()

    private let observers = Mutex(ObserverTable())

    /// A bus without observers.
    public init() {}

    /// Posts a notification to all sequences that follow its name and object.
    ///
    /// They have it when this returns, and their consumers get it as soon as they run. Of notifications posted by several
    /// threads at once, each observer gets every one, but two observers may get them in different orders.
    ///
    /// - Parameters:
    ///   - name: The kind of notification.
    ///   - object: The object that posts it.
    ///   - userInfo: What it carries; evaluated only if somebody follows the object.
    public func post<UserInfo: Sendable>(
        name: NotificationName<UserInfo>, object: any AnyObject & Sendable, userInfo: @autoclosure () -> UserInfo
    ) {
        let topic = ObserverTable.Topic(userInfo: UserInfo.self, object: object)
        let observers = observers.withLock { $0.observers(of: topic) }
        guard !observers.isEmpty else { return }
        let userInfo = userInfo()
        for observer in observers { observer.post(userInfo) }
    }

    /// Returns an asynchronous sequence of what the notifications of one name carry, from one object or from any.
    ///
    /// - Parameters:
    ///   - name: The kind of notification to follow.
    ///   - object: The object whose notifications to follow; `nil` for those of any object. The sequence and its iterators
    ///     keep the object alive.
    ///   - bufferingPolicy: What to keep while the consumer does not wait. The default keeps everything; a consumer that may
    ///     fall behind and needs only the newest state should use `.bufferingNewest(1)`.
    public func notifications<UserInfo: Sendable>(
        named name: NotificationName<UserInfo>, object: (any AnyObject & Sendable)? = nil,
        bufferingPolicy: NotificationBufferingPolicy = .unbounded
    ) -> Notifications<UserInfo> {
        Notifications(bus: self, object: object, bufferingPolicy: bufferingPolicy)
    }

    /// Adds an observer; the function it returns removes it and releases the object.
    func addObserver(
        of userInfo: (some Sendable).Type, object: (any AnyObject & Sendable)?, _ observer: NotificationStorage
    ) -> @Sendable () -> Void {
        let topic = ObserverTable.Topic(userInfo: userInfo, object: object)
        observers.withLock { $0.insert(observer, topic) }
        return { [self] in
            observers.withLock { $0.remove(observer, topic) }
            // The table knows objects by their addresses, so an object must outlive its observers.
            withExtendedLifetime(object) {}
        }
    }
}
