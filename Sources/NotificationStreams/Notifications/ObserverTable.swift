// SPDX-License-Identifier: Apache-2.0

/// The observers of a bus by name and object.
struct ObserverTable {
    /// The name and object that an observer follows.
    struct Topic: Hashable {
        private let userInfo: ObjectIdentifier
        /// `nil` for any object.
        fileprivate var object: ObjectIdentifier?

        init(userInfo: Any.Type, object: (any AnyObject & Sendable)?) {
            self.userInfo = ObjectIdentifier(userInfo)
            self.object = object.map { ObjectIdentifier($0) }
        }
    }

    private var observers: [Topic: [NotificationStorage]] = [:]
    /// The number of topics without an object; if it is zero, a post looks up one topic instead of two.
    private var topicsOfAnyObject = 0

    /// The observers that a post to a topic reaches, in the order in which they were added.
    func observers(of topic: Topic) -> [NotificationStorage] {
        let own = observers[topic] ?? []
        guard topicsOfAnyObject > 0 else { return own }
        var anyObject = topic
        anyObject.object = nil
        return own + (observers[anyObject] ?? [])
    }

    mutating func insert(_ observer: NotificationStorage, _ topic: Topic) {
        if topic.object == nil, observers[topic] == nil { topicsOfAnyObject += 1 }
        observers[topic, default: []].append(observer)
    }

    mutating func remove(_ observer: NotificationStorage, _ topic: Topic) {
        observers[topic]?.removeAll { $0 === observer }
        guard observers[topic]?.isEmpty == true else { return }
        observers[topic] = nil
        if topic.object == nil { topicsOfAnyObject -= 1 }
    }
}
