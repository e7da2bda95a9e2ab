// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// What waits for several owners, such as users: that of one in the order in which it came, and owners take turns.
///
/// So whoever has much holds up nobody else's. Each operation takes the same time however much waits.
public struct FairQueue<Element> {
    private typealias Line = Deque<Element>

    /// What waits for each owner; some that have nothing are kept, since they soon have something again.
    private var lines: [UInt32: Line] = [:]
    /// The owners of what waits, the one whose turn is next first.
    private var owners: Deque<UInt32> = []

    /// How many lines are kept, at the least, when nothing is left in them.
    private static var keptLines: Int { 16 }

    /// A queue in which nothing waits.
    public init() {}

    /// Whether nothing waits.
    public var isEmpty: Bool { owners.isEmpty }

    /// How many owners have something that waits.
    public var ownerCount: Int { owners.count }

    /// Whether something of an owner waits.
    public func contains(_ owner: UInt32) -> Bool { lines[owner]?.isEmpty == false }

    /// Adds an element behind those of its owner.
    public mutating func append(_ element: Element, of owner: UInt32) {
        if Self.append(element, to: &lines[owner, default: []]) { owners.append(owner) }
    }

    /// Takes the first element of the owner whose turn it is; nil if nothing waits.
    public mutating func popFirst() -> Element? {
        guard let owner = owners.popFirst() else { return nil }
        let (element, isLast) = Self.popFirst(of: &lines[owner, default: []])
        if !isLast {
            owners.append(owner)
        } else if lines.count > Self.keptLines {
            lines[owner] = nil
        }
        return element
    }

    // Each looks for the owner once.

    private static func append(_ element: Element, to line: inout Line) -> Bool {
        defer { line.append(element) }
        return line.isEmpty
    }

    private static func popFirst(of line: inout Line) -> (Element?, isLast: Bool) { (line.popFirst(), line.isEmpty) }
}
