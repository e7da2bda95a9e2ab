// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// All descriptors that the loop waits for: each ``IOSource``'s, sd-event's, and the descriptor that wakes the loop.
///
/// sd-event would ask the kernel for all ready descriptors, handle one, and ask for all again: with a thousand busy
/// clients, that is a thousand times the work. This set handles up to 64 ready descriptors at a time, in the order in
/// which they became ready. Descriptors that stay ready go to the end of the queue.
///
/// It is used on the loop's thread only.
final class PollSet {
    private static let batch = 64

    private struct Slot {
        var source: Unmanaged<IOSource>?
        /// Incremented when a source leaves the slot, so that the next source does not get its events.
        var generation: UInt32 = 0
    }

    /// The key of the descriptor that wakes the loop.
    static let wakeUpKey = UInt64.max
    /// The key of sd-event's descriptor.
    static let sdEventKey = UInt64.max - 1

    private let descriptor: Int32
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var ready = [epoll_event](repeating: epoll_event(), count: batch)
    /// How many descriptors were ready the last time.
    private(set) var readyCount = 0

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(descriptor >= 0, "cannot start the event loop: out of descriptors or memory")
    }

    /// Returns a key for a source: the slot and its generation.
    ///
    /// Remove it before the source is released.
    func add(_ source: IOSource) -> UInt64 {
        let index = freeSlots.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        slots[index].source = .passUnretained(source)
        return UInt64(slots[index].generation) << 32 | UInt64(index)
    }

    /// Removes a source.
    func remove(_ key: UInt64) {
        let index = Int(key & 0xFFFF_FFFF)
        slots[index].source = nil
        slots[index].generation &+= 1
        freeSlots.append(index)
    }

    /// Starts, changes or stops watching a descriptor; returns 0 or the error number.
    func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, key: UInt64) -> Int32 {
        var event = epoll_event(events: events, data: epoll_data_t(u64: key))
        return epoll_ctl(self.descriptor, operation, descriptor, &event) == 0 ? 0 : errno
    }

    /// Collects the ready descriptors, and waits for one if `mayWait`; returns whether sd-event is ready.
    func wait(mayWait: Bool) -> Bool {
        let count = ready.withUnsafeMutableBufferPointer {
            epoll_wait(descriptor, $0.baseAddress, Int32($0.count), mayWait ? -1 : 0)
        }
        readyCount = max(0, Int(count))
        for index in 0..<readyCount where ready[index].data.u64 == Self.sdEventKey { return true }
        return false
    }

    /// Calls the handlers of the sources that ``wait(mayWait:)`` found ready.
    @EventLoop func dispatch(wakeUp: Int32) {
        for index in 0..<readyCount {
            let key = ready[index].data.u64
            if key >= Self.sdEventKey {
                var count: UInt64 = 0
                if key == Self.wakeUpKey { eventfd_read(wakeUp, &count) }
                continue
            }
            let slot = slots[Int(key & 0xFFFF_FFFF)]
            // An earlier handler may have cancelled the source.
            guard UInt64(slot.generation) == key >> 32, let source = slot.source else { continue }
            source.takeUnretainedValue().fire(IOSource.Events(rawValue: ready[index].events))
        }
    }
}
