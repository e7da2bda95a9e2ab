// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// The messages that wait for a receiver, up to a capacity.
///
/// A state machine: it does no I/O and takes no lock.
struct OutboxQueue<Message> {
    private enum Sender {
        case idle, atWork
    }

    /// What the sender does next.
    enum Step {
        case send(Message)
        /// All kept messages have been sent; this many were dropped.
        case reportLoss(Int)
        /// No message is left, and the sender ends.
        case end
    }

    private struct Entry {
        let message: Message
        let size: Int
    }

    private let capacity: Int
    private var entries: Deque<Entry> = []
    private var size = 0
    private var dropped = 0
    private var sender = Sender.idle

    /// Creates a queue for `capacity` bytes of messages.
    init(capacity: Int) { self.capacity = capacity }

    /// Whether everything has been sent.
    var isEmpty: Bool { sender == .idle }

    /// Adds a message of `size` bytes, and drops the oldest ones if there is no room for it.
    ///
    /// - Parameters:
    ///   - replaces: whether it replaces a given waiting message, which then is not sent; nil if it replaces none.
    ///   - inPlace: whether it takes the position of the replaced message, instead of the last position.
    /// - Returns: whether to start a sender.
    mutating func add(
        _ message: Message, size: Int, inPlace: Bool = false, replacing replaces: ((Message) -> Bool)? = nil
    ) -> Bool {
        if let replaces, let position = entries.lastIndex(where: { replaces($0.message) }) {
            self.size -= entries[position].size
            if inPlace {
                entries[position] = Entry(message: message, size: size)
                self.size += size
                return false
            }
            entries.remove(at: position)
        }
        entries.append(Entry(message: message, size: size))
        self.size += size
        while self.size > capacity, entries.count > 1 {
            removeFirst()
            dropped += 1
        }
        defer { sender = .atWork }
        return sender == .idle
    }

    /// Returns the sender's next step.
    mutating func next() -> Step {
        if let message = removeFirst() { return .send(message) }
        defer { dropped = 0 }
        if dropped > 0 { return .reportLoss(dropped) }
        sender = .idle
        return .end
    }

    /// Takes the oldest message; nil if there is none.
    @discardableResult
    private mutating func removeFirst() -> Message? {
        guard let entry = entries.popFirst() else { return nil }
        size -= entry.size
        return entry.message
    }
}
