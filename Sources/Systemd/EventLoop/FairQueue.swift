// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// What waits for several owners, such as users: that of one in the order in which it came, and owners take turns.
///
/// So whoever has much holds up nobody else's. Each operation takes the same time however much waits.
public struct FairQueue<Element> {
    private var elements: [UInt32: Deque<Element>] = [:]
    /// The owners of what waits, the one whose turn is next first.
    private var owners: Deque<UInt32> = []

    /// A queue in which nothing waits.
    public init() {}

    /// Whether nothing waits.
    public var isEmpty: Bool { owners.isEmpty }

    /// How many owners have something that waits.
    public var ownerCount: Int { owners.count }

    /// Whether something of an owner waits.
    public func contains(_ owner: UInt32) -> Bool { elements[owner] != nil }

    /// Adds an element behind those of its owner.
    public mutating func append(_ element: Element, of owner: UInt32) {
        if elements[owner] == nil { owners.append(owner) }
        elements[owner, default: []].append(element)
    }

    /// Takes the first element of the owner whose turn it is; nil if nothing waits.
    public mutating func popFirst() -> Element? {
        guard let owner = owners.popFirst(), let element = elements[owner]?.popFirst() else { return nil }
        if elements[owner]?.isEmpty == true { elements[owner] = nil } else { owners.append(owner) }
        return element
    }
}
