// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HeapModule

/// What waits for several owners, such as users: that of one in the order in which it came; the owner comes first who has been given least.
///
/// So whoever has much, or takes long, holds up nobody else's. It is start-time fair queueing (Goyal, Vin and Cheng, 1996): an owner's time
/// is what it has been given, but never less, by more than a small credit, than that of whoever was served last; so nobody saves up by staying
/// away, and who asks for little comes before all who ask for much. Each operation takes a time that grows with the logarithm of the number of
/// owners.
public struct FairQueue<Element> {
    private struct Line {
        var elements: Deque<Element> = []
        /// What its owner has been given.
        var time: UInt64 = 0
    }

    /// An owner's place among those who have something that waits.
    private struct Turn: Comparable {
        let time: UInt64
        /// Of those who have been given as much as each other, who came first.
        let number: UInt64
        let owner: UInt32

        static func < (left: Turn, right: Turn) -> Bool { (left.time, left.number) < (right.time, right.number) }
    }

    /// What waits for each owner; some that have nothing are kept, since they soon have something again, or have been given more than others.
    private var lines: [UInt32: Line] = [:]
    private var turns = Heap<Turn>()
    private var lastNumber: UInt64 = 0
    /// The time of whoever was served last; the longest of all when nothing waits any more.
    private var now: UInt64
    private var longestTime: UInt64 = 0
    private let credit: UInt64
    /// More lines than these are looked through for some that can go.
    private var linesToKeep = 16

    /// A queue in which nothing waits.
    ///
    /// - Parameter credit: how much less than others an owner may have been given at the most, for what it has not asked for.
    public init(credit: UInt64 = 0) {
        self.credit = credit
        now = credit
    }

    /// The time of an owner who has been given nothing for long.
    private var leastTime: UInt64 { now - credit }

    /// Whether nothing waits.
    public var isEmpty: Bool { turns.isEmpty }

    /// How many owners have something that waits.
    public var ownerCount: Int { turns.count }

    /// Whether something of an owner waits.
    public func contains(_ owner: UInt32) -> Bool { lines[owner]?.elements.isEmpty == false }

    /// Adds an element behind those of its owner.
    public mutating func append(_ element: Element, of owner: UInt32) {
        let leastTime = leastTime
        let time: UInt64? = Self.with(&lines[owner, default: Line()]) { line in
            defer { line.elements.append(element) }
            guard line.elements.isEmpty else { return nil }
            line.time = max(line.time, leastTime)
            return line.time
        }
        if let time { insert(owner, time) }
    }

    /// Takes the first element of the owner who has been given least; nil if nothing waits.
    public mutating func popFirst() -> (element: Element, owner: UInt32)? {
        while let turn = turns.popMin() {
            let owner = turn.owner
            let (element, time): (Element?, UInt64?) = Self.with(&lines[owner, default: Line()]) { line in
                // It has been given something since.
                if line.time > turn.time { return (nil, line.time) }
                let element = line.elements.popFirst()
                // What is given without a note of its cost counts, too: so owners take turns.
                line.time += 1
                longestTime = max(longestTime, line.time)
                return (element, line.elements.isEmpty ? nil : line.time)
            }
            if let time { insert(owner, time) }
            guard let element else { continue }
            // Whoever came with credit does not turn it back.
            now = max(now, turns.isEmpty ? longestTime : turn.time)
            if time == nil { forgetIdleLines() }
            return (element, owner)
        }
        return nil
    }

    /// Notes that an owner has been given so much, of what waited or otherwise; that counts as long as something waits.
    public mutating func charge(_ cost: UInt64, to owner: UInt32) {
        guard !turns.isEmpty else { return }
        let time = max(lines[owner]?.time ?? 0, leastTime) + cost
        lines[owner, default: Line()].time = time
        longestTime = max(longestTime, time)
        forgetIdleLines()
    }

    private mutating func insert(_ owner: UInt32, _ time: UInt64) {
        lastNumber += 1
        turns.insert(Turn(time: time, number: lastNumber, owner: owner))
    }

    /// Forgets whoever has nothing and has been given no more than others, once there are twice as many as were left the last time.
    private mutating func forgetIdleLines() {
        guard lines.count > linesToKeep else { return }
        lines = lines.filter { !$0.value.elements.isEmpty || $0.value.time > leastTime }
        linesToKeep = max(16, 2 * lines.count)
    }

    /// Looks for an owner once.
    private static func with<Result>(_ line: inout Line, _ body: (inout Line) -> Result) -> Result { body(&line) }
}
