// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The unused bytes from a socket: messages that end in NUL, the last one perhaps incomplete.
///
/// They are used in place, without a copy. Each byte is searched for NUL only once, so the cost of a message is
/// proportional to its length even if it arrives byte by byte.
package struct MessageInput: ~Copyable {
    /// How much is read at a time, unless a message is longer.
    ///
    /// That is about a hundred posts. A stream's socket has room for several times the events that they cause, so a
    /// slow reader can catch up.
    private static let usualCapacity = 16 * 1024
    /// With less room than this, memory is moved or allocated before a system call.
    private static let leastRoom = 2048

    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private var end = 0
    /// No byte before this offset is NUL; if a NUL was found, it is here.
    private var scanned = 0

    package init() {}

    /// How many bytes are left.
    package var count: Int { end - start }

    deinit { base?.deallocate() }

    /// Returns memory to read into.
    ///
    /// This invalidates the messages that were taken before.
    package mutating func room() -> UnsafeMutableRawBufferPointer {
        if capacity - end < Self.leastRoom { makeRoom() }
        return UnsafeMutableRawBufferPointer(start: base.map { $0 + end }, count: capacity - end)
    }

    /// Adds the bytes that were read into the room.
    package mutating func add(_ count: Int) { end += count }

    /// Whether a whole message is there.
    mutating func hasMessage() -> Bool { endOfMessage() != nil }

    /// Takes the next whole message, without its NUL; valid until the next call of ``room()`` or this.
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
