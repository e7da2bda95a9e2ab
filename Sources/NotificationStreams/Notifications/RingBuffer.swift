// SPDX-License-Identifier: Apache-2.0

/// A first-in-first-out buffer that keeps its memory, so that a steady flow through it allocates nothing.
struct RingBuffer<Element> {
    /// As many as a power of two, or none, so that an index wraps with a mask.
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    /// Puts an element behind the others.
    mutating func append(_ element: Element) {
        if count == slots.count {
            grow()
        }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    /// Takes the element that has been here the longest.
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            head = (head + 1) & (slots.count - 1)
            count -= 1
        }
        return slots[head].take()
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(4, 2 * slots.count))
        for offset in 0..<count {
            larger.append(slots[(head + offset) & (slots.count - 1)])
        }
        while larger.count < max(4, 2 * slots.count) {
            larger.append(nil)
        }
        slots = larger
        head = 0
    }
}
