// SPDX-License-Identifier: Apache-2.0

public import DequeModule
public import HeapModule

/// A queue shared by several owners, such as users, that serves the owner that has used least.
///
/// The elements of one owner stay in order. An owner with many or costly elements does not delay the others. The algorithm is start-time fair
/// queueing (Goyal, Vin and Cheng, 1996): the virtual time of an owner is the cost charged to it. An owner that returns after a while gets the virtual
/// time of the queue, less a small credit, so idle owners cannot save up, and an owner with light use comes before owners with heavy use. Each
/// operation is logarithmic in the number of owners.
///
/// It is inlinable: unspecialized, taking an element would cost some 5000 instructions more, most of them for looking up types.
public struct FairQueue<Element> {
    @usableFromInline struct Line {
        @usableFromInline var elements: Deque<Element> = []
        /// The owner's virtual time.
        @usableFromInline var time: UInt64 = 0
        /// The number of its newest turn; its older turns are no longer valid.
        @usableFromInline var number: UInt64 = 0

        @inlinable init() {}
    }

    /// An owner's turn among all owners with elements.
    @usableFromInline struct Turn: Comparable, Sendable {
        @usableFromInline let time: UInt64
        /// Orders owners with the same virtual time.
        @usableFromInline let number: UInt64
        @usableFromInline let owner: UInt32

        @inlinable init(time: UInt64, number: UInt64, owner: UInt32) {
            (self.time, self.number, self.owner) = (time, number, owner)
        }

        @inlinable static func < (left: Turn, right: Turn) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }
    }

    /// The lines of all owners; some are empty and kept for reuse, or because their virtual time is ahead.
    @usableFromInline var lines: [UInt32: Line] = [:]
    @usableFromInline var turns = Heap<Turn>()
    @usableFromInline var lastNumber: UInt64 = 0
    /// The virtual time of the queue: that of the owner served last, or the greatest of all once the queue is empty.
    @usableFromInline var now: UInt64
    @usableFromInline var longestTime: UInt64 = 0
    @usableFromInline let credit: UInt64
    /// If there are more lines than this, idle ones are removed.
    @usableFromInline var linesToKeep = 16

    /// Creates an empty queue.
    ///
    /// - Parameter credit: how far an owner that was idle may be behind the virtual time of the queue.
    @inlinable public init(credit: UInt64 = 0) {
        self.credit = credit
        now = credit
    }

    /// The virtual time that an idle owner gets at least.
    @inlinable var leastTime: UInt64 { now - credit }

    /// Whether the queue is empty.
    @inlinable public var isEmpty: Bool { ownerCount == 0 }

    /// The number of owners with elements.
    @inlinable public var ownerCount: Int { owners }
    @usableFromInline var owners = 0

    /// Whether the queue has an element of an owner.
    @inlinable public func contains(_ owner: UInt32) -> Bool { lines[owner]?.elements.isEmpty == false }

    /// Adds an element behind those of its owner.
    @inlinable public mutating func append(_ element: Element, of owner: UInt32) {
        let leastTime = leastTime
        let time: UInt64? = Self.with(&lines[owner, default: Line()]) { line in
            defer { line.elements.append(element) }
            guard line.elements.isEmpty else { return nil }
            line.time = max(line.time, leastTime)
            return line.time
        }
        if let time {
            owners += 1
            insert(owner, time)
        }
    }

    /// Adds elements before those of their owner.
    @inlinable mutating func prepend(_ elements: some Sequence<Element>, of owner: UInt32) {
        let waiting = removeAll(of: owner)
        for element in elements { append(element, of: owner) }
        for element in waiting { append(element, of: owner) }
    }

    /// Takes the first element of the owner with the least virtual time; nil if the queue is empty.
    @inlinable public mutating func popFirst() -> (element: Element, owner: UInt32)? {
        while let turn = turns.popMin() {
            let owner = turn.owner
            let (element, time): (Element?, UInt64?) = Self.with(&lines[owner, default: Line()]) { line in
                // Its elements were removed, and it may have got another turn since.
                if turn.number != line.number || line.elements.isEmpty { return (nil, nil) }
                // The owner was charged after it got this turn.
                if line.time > turn.time { return (nil, line.time) }
                let element = line.elements.popFirst()
                if line.elements.isEmpty { owners -= 1 }
                // Without a charge, owners take turns.
                line.time += 1
                longestTime = max(longestTime, line.time)
                return (element, line.elements.isEmpty ? nil : line.time)
            }
            if let time { insert(owner, time) }
            guard let element else { continue }
            // An owner with credit does not move it back.
            now = max(now, isEmpty ? longestTime : turn.time)
            if time == nil { forgetIdleLines() }
            return (element, owner)
        }
        return nil
    }

    /// Takes all elements of an owner, in order.
    @inlinable public mutating func removeAll(of owner: UInt32) -> [Element] {
        // Its turn is skipped when it comes to the front.
        guard contains(owner) else { return [] }
        owners -= 1
        return Self.with(&lines[owner, default: Line()]) { line in
            defer { line.elements.removeAll() }
            return Array(line.elements)
        }
    }

    /// Charges a cost to an owner, whether for queued work or not; has no effect while the queue is empty.
    @inlinable public mutating func charge(_ cost: UInt64, to owner: UInt32) {
        guard !isEmpty else { return }
        let time = max(lines[owner]?.time ?? 0, leastTime) + cost
        lines[owner, default: Line()].time = time
        longestTime = max(longestTime, time)
        forgetIdleLines()
    }

    @inlinable mutating func insert(_ owner: UInt32, _ time: UInt64) {
        lastNumber += 1
        lines[owner, default: Line()].number = lastNumber
        turns.insert(Turn(time: time, number: lastNumber, owner: owner))
    }

    /// Removes empty lines that are not ahead, if the number of lines has doubled since the last time.
    @inlinable mutating func forgetIdleLines() {
        guard lines.count > linesToKeep else { return }
        lines = lines.filter { !$0.value.elements.isEmpty || $0.value.time > leastTime }
        linesToKeep = max(16, 2 * lines.count)
    }

    /// Runs `body` with one lookup of the line.
    @inlinable static func with<Result>(_ line: inout Line, _ body: (inout Line) -> Result) -> Result { body(&line) }
}

extension FairQueue: Sendable where Element: Sendable {}
extension FairQueue.Line: Sendable where Element: Sendable {}
