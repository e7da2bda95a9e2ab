// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HeapModule

/// A queue shared by several owners, such as users, that serves the owner that has used least.
///
/// The elements of one owner stay in order. An owner with many or costly elements does not delay the others. The algorithm is start-time fair
/// queueing (Goyal, Vin and Cheng, 1996): the virtual time of an owner is the cost charged to it. An owner that returns after a while gets the virtual
/// time of the queue, less a small credit, so idle owners cannot save up, and an owner with light use comes before owners with heavy use. The
/// estimated cost of an element counts, too, so many owners with costly elements do not delay another one with a cheap element. Each operation is
/// logarithmic in the number of owners.
public struct FairQueue<Element> {
    fileprivate struct Line {
        var elements: Deque<(element: Element, estimate: UInt64)> = []
        /// The owner's virtual time.
        var time: UInt64 = 0

        /// The virtual time at which the first element would be done; nil without elements.
        var end: UInt64? { elements.first.map { time + $0.estimate } }
    }

    /// The place of an owner among all owners with elements.
    fileprivate struct Turn: Comparable, Sendable {
        /// When its first element would be done.
        let end: UInt64
        /// Orders owners with the same end.
        let number: UInt64
        let owner: UInt32

        static func < (left: Turn, right: Turn) -> Bool { (left.end, left.number) < (right.end, right.number) }
    }

    /// The elements of each owner; some empty lines are kept, for reuse or because their virtual time is ahead.
    private var lines: [UInt32: Line] = [:]
    private var turns = Heap<Turn>()
    private var lastNumber: UInt64 = 0
    /// The virtual time of the queue: that of the owner served last, or the greatest of all once the queue is empty.
    private var now: UInt64
    private var longestTime: UInt64 = 0
    private let credit: UInt64
    /// If there are more lines than this, the ones that are not needed are removed.
    private var linesToKeep = 16

    /// A queue in which nothing waits.
    ///
    /// - Parameter credit: how far an owner that was idle may be behind the virtual time of the queue.
    public init(credit: UInt64 = 0) {
        self.credit = credit
        now = credit
    }

    /// The virtual time of an owner that was idle.
    private var leastTime: UInt64 { now - credit }

    /// Whether nothing waits.
    public var isEmpty: Bool { turns.isEmpty }

    /// How many owners have something that waits.
    public var ownerCount: Int { turns.count }

    /// Whether something of an owner waits.
    public func contains(_ owner: UInt32) -> Bool { lines[owner]?.elements.isEmpty == false }

    /// Adds an element behind those of its owner, with an estimate of its cost.
    public mutating func append(_ element: Element, of owner: UInt32, estimate: UInt64 = 0) {
        let leastTime = leastTime
        let end: UInt64? = Self.with(&lines[owner, default: Line()]) { line in
            let isFirst = line.elements.isEmpty
            line.elements.append((element, estimate))
            guard isFirst else { return nil }
            line.time = max(line.time, leastTime)
            return line.end
        }
        if let end { insert(owner, end) }
    }

    /// Takes the first element of the owner with the least virtual time, that of the element included; nil if the queue is empty.
    public mutating func popFirst() -> (element: Element, owner: UInt32)? {
        while let turn = turns.popMin() {
            let owner = turn.owner
            var begin: UInt64 = 0
            let (element, end): (Element?, UInt64?) = Self.with(&lines[owner, default: Line()]) { line in
                // The owner was charged after this place was taken.
                if let end = line.end, end > turn.end { return (nil, end) }
                let element = line.elements.popFirst()?.element
                begin = line.time
                // Without a charge, owners take turns.
                line.time += 1
                longestTime = max(longestTime, line.time)
                return (element, line.end)
            }
            if let end { insert(owner, end) }
            guard let element else { continue }
            // An owner with credit does not move it back.
            now = max(now, turns.isEmpty ? longestTime : begin)
            if end == nil { forgetIdleLines() }
            return (element, owner)
        }
        return nil
    }

    /// Charges a cost to an owner, whether for queued work or not; has no effect while the queue is empty.
    public mutating func charge(_ cost: UInt64, to owner: UInt32) {
        guard !turns.isEmpty else { return }
        let time = max(lines[owner]?.time ?? 0, leastTime) + cost
        lines[owner, default: Line()].time = time
        longestTime = max(longestTime, time)
        forgetIdleLines()
    }

    private mutating func insert(_ owner: UInt32, _ end: UInt64) {
        lastNumber += 1
        turns.insert(Turn(end: end, number: lastNumber, owner: owner))
    }

    /// Removes empty lines that are not ahead, if the number of lines has doubled since the last time.
    private mutating func forgetIdleLines() {
        guard lines.count > linesToKeep else { return }
        lines = lines.filter { !$0.value.elements.isEmpty || $0.value.time > leastTime }
        linesToKeep = max(16, 2 * lines.count)
    }

    /// Looks an owner up once.
    private static func with<Result>(_ line: inout Line, _ body: (inout Line) -> Result) -> Result { body(&line) }
}

extension FairQueue: Sendable where Element: Sendable {}
extension FairQueue.Line: Sendable where Element: Sendable {}
