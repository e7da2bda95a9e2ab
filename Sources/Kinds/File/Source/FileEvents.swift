// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Events of directories (inotify(7)), with the names of the changed entries.
struct FileEvents {
    private static let bufferSize = 256 * 1024

    /// Whether events were dropped, so that anything may have changed.
    private(set) var isOverflown = false
    /// The watches whose directories themselves have changed.
    private(set) var directories: Set<Int32> = []
    /// The names of the changed entries, by watch.
    ///
    /// They are bytes, because comparing strings of many combining characters is slow.
    private(set) var names: [Int32: Set<[UInt8]>] = [:]

    /// Reads at most one buffer of events.
    static func read(from queue: OwnedDescriptor) -> FileEvents {
        var events = FileEvents()
        withUnsafeTemporaryAllocation(byteCount: bufferSize, alignment: MemoryLayout<inotify_event>.alignment) {
            buffer in
            let count = Glibc.read(queue.rawValue, buffer.baseAddress, buffer.count)
            var rest = UnsafeRawBufferPointer(rebasing: buffer.prefix(max(0, count)))
            while rest.count >= MemoryLayout<inotify_event>.size {
                let event = rest.loadUnaligned(as: inotify_event.self)
                let end = MemoryLayout<inotify_event>.size + Int(event.len)
                guard rest.count >= end else { break }
                events.take(event, name: rest[MemoryLayout<inotify_event>.size..<end].prefix { $0 != 0 })
                rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            }
        }
        return events
    }

    private mutating func take(_ event: inotify_event, name: some Collection<UInt8>) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { isOverflown = true }
        guard event.wd >= 0 else { return }
        if name.isEmpty {
            directories.insert(event.wd)
        } else {
            names[event.wd, default: []].insert(Array(name))
        }
    }
}
