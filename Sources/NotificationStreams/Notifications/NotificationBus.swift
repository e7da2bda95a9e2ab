// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Delivers notifications from objects that post them to the sequences that follow those objects.
///
/// It works like Foundation's `NotificationCenter`, but without Foundation:
/// - User info is typed, and its type distinguishes the names of notifications.
/// - Observers are asynchronous sequences with a buffering policy.
/// - Objects are `Sendable`, and their observers keep them alive.
/// ```swift
/// for await update in bus.notifications(named: .didUpdateStatus, object: server) {
///     show(update.status)
/// }
/// ```
/// A post finds its observers with at most one lookup of the object, and one more if any observer follows all objects.
/// A post without observers allocates nothing and does not evaluate its user info.
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
    ///   - userInfo: The user info that it carries; evaluated only if the notification has an observer.
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
    ///   - object: The object whose notifications to follow, or `nil` for the notifications of every object. The
    ///     sequence and its iterators keep the object alive.
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

/// The name of a kind of notification, and the type of its user info.
///
/// Names are distinguished by that type, so each kind of notification needs its own type. Names are written as in
/// Foundation:
/// ```swift
/// struct StatusUpdate: Sendable { var status: String }
///
/// extension NotificationName where UserInfo == StatusUpdate {
///     static var didUpdateStatus: Self { Self() }
/// }
/// ```
public struct NotificationName<UserInfo: Sendable>: Sendable {
    /// The name of the notifications that carry a `UserInfo`.
    public init() {}
}

/// The observers of a bus by name and object.
struct ObserverTable {
    /// The name and object that an observer follows.
    struct Topic: Hashable {
        private let userInfo: ObjectIdentifier
        /// `nil` for any object.
        fileprivate var object: ObjectIdentifier?

        /// A number below 64 that this object's topics share.
        fileprivate var group: Int {
            let address = object.map { UInt(bitPattern: $0) } ?? 0
            return Int(truncatingIfNeeded: (address ^ address &>> 6) &>> 4 & 63)
        }

        init(userInfo: Any.Type, object: (any AnyObject & Sendable)?) {
            self.userInfo = ObjectIdentifier(userInfo)
            self.object = object.map { ObjectIdentifier($0) }
        }
    }

    private var observers: [Topic: [NotificationStorage]] = [:]
    /// The number of observed topics in each group; most posts need no lookup, because their group has none.
    private var observed = [Int](repeating: 0, count: 64)
    private var topicsOfAnyObject = 0

    /// The observers that a post to a topic reaches, in the order in which they were added.
    func observers(of topic: Topic) -> [NotificationStorage] {
        let own = observed[topic.group] > 0 ? observers[topic] ?? [] : []
        guard topicsOfAnyObject > 0 else { return own }
        var anyObject = topic
        anyObject.object = nil
        return own + (observers[anyObject] ?? [])
    }

    mutating func insert(_ observer: NotificationStorage, _ topic: Topic) {
        if observers[topic] == nil { note(topic, 1) }
        observers[topic, default: []].append(observer)
    }

    mutating func remove(_ observer: NotificationStorage, _ topic: Topic) {
        observers[topic]?.removeAll { $0 === observer }
        guard observers[topic]?.isEmpty == true else { return }
        observers[topic] = nil
        note(topic, -1)
    }

    private mutating func note(_ topic: Topic, _ change: Int) {
        observed[topic.group] += change
        if topic.object == nil { topicsOfAnyObject += change }
    }
}
