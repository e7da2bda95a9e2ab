// SPDX-License-Identifier: Apache-2.0

/// A byte queue: JSON is appended at its end, and sent bytes are removed from its front.
///
/// Removing moves an offset. Memory moves only when at least half of it is free, so the cost stays proportional to the
/// number of bytes written.
///
/// Writing is also inlined into other modules, so that a constant, such as the name of a member, takes a few
/// instructions instead of calls.
@usableFromInline
struct ByteOutput: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>?
    @usableFromInline var capacity = 0
    private var start = 0
    @usableFromInline var end = 0

    /// The number of bytes.
    var count: Int { end - start }

    /// The bytes; valid until the next change.
    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: base.map { $0 + start }, count: count) }

    init(reserving capacity: Int = 0) {
        if capacity > 0 { grow(by: capacity) }
    }

    @inlinable
    deinit { base?.deallocate() }

    /// Makes room for `additional` bytes and returns a pointer to it; call `advance(by:)` with the number of bytes
    /// written.
    @inlinable
    @inline(__always)
    mutating func room(_ additional: Int) -> UnsafeMutablePointer<UInt8> {
        if let base, capacity - end >= additional { return base + end }
        return grow(by: additional)
    }

    /// Adds the bytes that were written into the room.
    @inlinable
    @inline(__always)
    mutating func advance(by count: Int) { end &+= count }

    @inlinable
    @inline(__always)
    mutating func append(_ byte: UInt8) {
        room(1).initialize(to: byte)
        end &+= 1
    }

    @inlinable
    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        room(bytes.count).initialize(from: source, count: bytes.count)
        end &+= bytes.count
    }

    @inlinable
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Removes bytes from the end, down to `count`.
    mutating func truncate(to count: Int) { end = start + Swift.min(count, self.count) }

    /// Removes bytes from the front.
    mutating func removeFirst(_ count: Int) {
        start += Swift.min(count, self.count)
        if start == end { (start, end) = (0, 0) }
    }

    @usableFromInline
    @discardableResult
    mutating func grow(by additional: Int) -> UnsafeMutablePointer<UInt8> {
        if let base, start >= count, capacity - count >= additional {
            base.update(from: base + start, count: count)
            end -= start
            start = 0
            return base + end
        }
        let newCapacity = Swift.max(count + additional, 2 * count, 1024)
        let new = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
        if let base {
            new.initialize(from: base + start, count: count)
            base.deallocate()
        }
        end -= start
        start = 0
        base = new
        capacity = newCapacity
        return new + end
    }
}
