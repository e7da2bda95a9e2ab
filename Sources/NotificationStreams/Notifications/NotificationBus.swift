// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Delivers notifications from objects that post them to the sequences that follow those objects.
///
/// It works like Foundation's `NotificationCenter`, but needs no Foundation: user info is typed, and a name is told
/// from others by that type too; observers are asynchronous sequences, with a buffering policy; objects are `Sendable`,
/// and kept alive by those who follow them.
/// ```swift
/// for await update in bus.notifications(named: .didUpdateStatus, object: server) {
///     show(update.status)
/// }
/// ```
/// A post finds its observers with one lookup of the object, and one more if any observer follows all objects. A post
/// without observers allocates nothing and does not evaluate its user info.
public final class NotificationBus: Sendable {
    /// A bus that all parts of a program can share.
    public static let `default` = NotificationBus()

    private let observers = Mutex(ObserverTable())

    /// Creates a bus without observers.
    public init() {}

    /// Posts a notification to all sequences that follow its name and object.
    ///
    /// When this returns, each sequence has passed it to its waiting consumer, or has buffered or dropped it by its
    /// policy. If several threads post at the same time, each observer gets every notification, but two observers may
    /// get them in different orders.
    ///
    /// - Parameters:
    ///   - name: The kind of notification.
    ///   - object: The object that posts it.
    ///   - userInfo: What it carries; evaluated only if the notification has an observer.
    public func post<UserInfo: Sendable>(
        name: NotificationName<UserInfo>, object: any AnyObject & Sendable, userInfo: @autoclosure () -> UserInfo
    ) {
        let topic = ObserverTable.Topic(userInfo: UserInfo.self, object: object)
        let observers = observers.withLock { $0.observers(of: topic) }
        guard !observers.isEmpty else { return }
        let userInfo = userInfo()
        for observer in observers { observer.post(userInfo) }
    }

    /// Returns an asynchronous sequence of the user info of one kind of notification, from one object or from any.
    ///
    /// - Parameters:
    ///   - name: The kind of notification to follow.
    ///   - object: The object whose notifications to follow, or `nil` to follow those of every object. The sequence and
    ///     its iterators keep the object alive.
    ///   - bufferingPolicy: Which notifications to keep while the consumer does not wait. The default keeps all of
    ///     them; a consumer that may fall behind and needs only the newest state should use `.bufferingNewest(1)`.
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
            // The table identifies objects by their addresses, so an object must outlive its observers.
            withExtendedLifetime(object) {}
        }
    }
}
