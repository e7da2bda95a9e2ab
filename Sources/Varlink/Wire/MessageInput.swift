// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What was read from a socket and not taken yet: messages that end in NUL, the last one perhaps not whole.
///
/// They are taken where they were read, without a copy. No byte is looked at twice for its NUL, so that a message that comes byte
/// by byte costs no more than its length.
package struct MessageInput: ~Copyable {
    /// How much is read at a time, unless a message is longer.
    ///
    /// A hundred posts. What is written to a stream because of them fits several times into its socket, so that a reader who has fallen
    /// behind catches up.
    private static let usualCapacity = 16 * 1024
    /// Less room than this is not worth a system call.
    private static let leastRoom = 2048

    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private var end = 0
    /// Up to here there is no NUL; where one was found, it stands here.
    private var scanned = 0

    package init() {}

    /// How many bytes were read and not taken.
    package var count: Int { end - start }

    /// Whether what was read is whole messages, so that the next byte begins another one.
    var endsMessage: Bool {
        guard let base, count > 0 else { return true }
        return (base + (end - 1)).load(as: UInt8.self) == 0
    }

    deinit { base?.deallocate() }

    /// Memory to read into.
    ///
    /// It ends the validity of the messages taken before.
    package mutating func room() -> UnsafeMutableRawBufferPointer {
        if capacity - end < Self.leastRoom { makeRoom() }
        return UnsafeMutableRawBufferPointer(start: base.map { $0 + end }, count: capacity - end)
    }

    /// Says how many bytes were read into the room.
    package mutating func add(_ count: Int) { end += count }

    /// Whether a whole message is there.
    mutating func hasMessage() -> Bool { endOfMessage() != nil }

    /// Takes the next whole message, without its NUL; valid until ``room()`` or ``takeMessage()`` is called again.
    package mutating func takeMessage() -> UnsafeRawBufferPointer? {
        guard let base, let nul = endOfMessage() else {
            if count == 0 { reset() }
            return nil
        }
        let message = UnsafeRawBufferPointer(start: base + start, count: nul - start)
        start = nul + 1
        scanned = start
        return message
    }

    /// Takes all bytes that are left, whatever they are.
    mutating func takeRest() -> [UInt8] {
        guard let base else { return [] }
        defer { start = end }
        return Array(UnsafeRawBufferPointer(start: base + start, count: count))
    }

    private mutating func endOfMessage() -> Int? {
        guard let base, scanned < end else { return nil }
        guard let nul = memchr(base + scanned, 0, end - scanned) else {
            scanned = end
            return nil
        }
        scanned = UnsafeRawPointer(base).distance(to: nul)
        return scanned
    }

    private mutating func reset() {
        start = 0
        end = 0
        scanned = 0
        guard capacity > Self.usualCapacity else { return }
        base?.deallocate()
        base = nil
        capacity = 0
    }

    private mutating func makeRoom() {
        let count = count
        if let base, start > 0, capacity - count >= Self.leastRoom {
            memmove(base, base + start, count)
        } else {
            let newCapacity = max(Self.usualCapacity, 2 * capacity)
            let new = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
            if let base {
                memcpy(new, base + start, count)
                base.deallocate()
            }
            base = new
            capacity = newCapacity
        }
        end = count
        scanned -= start
        start = 0
    }
}
