// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Watches the directories of files and the directories above them, with one inotify(7) instance.
///
/// If a directory cannot be watched, because it is unreadable or there are too many watches, its changes are noticed
/// only by the next check.
@EventLoop
final class FileWatcher: SharedResource {
    /// The events of a directory: an entry is created, renamed or removed, or its attributes change.
    ///
    /// IN_MASK_ADD is set because all checks share one watch of a directory, and may need different events.
    private nonisolated static let events: UInt32 = [
        IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF, IN_MASK_ADD,
    ].reduce(UInt32(IN_ONLYDIR)) { $0 | UInt32($1) }
    /// The pause after each read, which bounds the load if a directory changes all the time.
    ///
    /// The kernel queues 16,384 events of up to 272 bytes; reading all of them takes 18 reads.
    static let pause = Duration.milliseconds(25)
    /// The maximum number of checks whose watches are being added at the same time.
    ///
    /// Each of them needs a thread, because a disk may stop answering.
    private static let limit = 8

    private let queue: OwnedDescriptor?
    private var source: IOSource?
    private var timer: TimerSource?
    /// The directories by watch descriptor; a directory without checks is about to be removed.
    private var directories: [Int32: WatchedDirectory] = [:]
    /// The number of checks whose watches are being added.
    private var beginning = 0

    /// The number of the kernel's watches.
    var watchCount: Int { directories.count }

    /// Whether no watch is being added.
    var isSettled: Bool { beginning == 0 }

    init(in environment: SourceEnvironment) {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        queue = descriptor < 0 ? nil : OwnedDescriptor(adopting: descriptor)
        guard let queue else { return }
        source = try? IOSource(queue, events: .readable) { [weak self] _ in self?.read() }
        timer = try? TimerSource { [weak self] in self?.source?.events = .readable }
    }

    func close(within limit: Duration) async {
        source?.cancel()
        timer?.cancel()
    }

    // MARK: Watches

    /// Starts to report changes to `watch`, or updates the watched directories.
    ///
    /// Call it after each check, because other directories may have replaced the watched ones. If so, it reports a
    /// change at once, because the file may have changed since the check.
    func begin(_ watch: FileWatch) {
        guard !watch.isBeginning, beginning < Self.limit, let queue else { return }
        watch.isBeginning = true
        beginning += 1
        BlockingThread.start { [entries = watch.entries] in
            // The order is from the root to the file, so that a directory that is created in the meantime is found or
            // reported by its parent.
            let numbers = entries.map { Self.addWatch(for: $0, to: queue) }
            EventLoop.perform { self.began(watch, numbers) }
        }
    }

    /// Adds the kernel's watch of an entry's directory; returns its descriptor, or nil if that fails.
    ///
    /// For the file itself, the end of writing is also an event. Each write is usually not (IN_MODIFY), because a log
    /// file would be checked all the time.
    private nonisolated static func addWatch(for entry: FileEntry, to queue: OwnedDescriptor) -> Int32? {
        let ofFile = UInt32(IN_CLOSE_WRITE) | (entry.hasWrites ? UInt32(IN_MODIFY) : 0)
        let number = inotify_add_watch(queue.rawValue, entry.directory, entry.isFile ? events | ofFile : events)
        return number < 0 ? nil : number
    }

    private func began(_ watch: FileWatch, _ numbers: [Int32?]) {
        watch.isBeginning = false
        beginning -= 1
        for case let number? in numbers where directories[number] == nil { directories[number] = WatchedDirectory() }
        if !watch.hasEnded, watch.numbers != numbers {
            leave(watch)
            enter(watch, numbers)
        }
        removeUnneeded()
    }

    private func enter(_ watch: FileWatch, _ numbers: [Int32?]) {
        watch.numbers = numbers
        for case (let entry, let number?) in zip(watch.entries, numbers) {
            directories[number]?.insert(watch, for: entry)
        }
        watch.onEnd = { [weak self, weak watch] in
            if let watch { self?.leave(watch) }
            self?.removeUnneeded()
        }
        watch.notify()
    }

    private func leave(_ watch: FileWatch) {
        for case let number? in watch.numbers { directories[number]?.remove(watch) }
        watch.numbers = []
    }

    /// Removes unneeded watches from the kernel, unless one is being added.
    ///
    /// The new watch may have the descriptor of an unneeded one.
    private func removeUnneeded() {
        guard beginning == 0, let queue else { return }
        for number in directories.filter({ $0.value.isEmpty }).keys {
            directories[number] = nil
            inotify_rm_watch(queue.rawValue, number)
        }
    }

    // MARK: Events

    private func read() {
        guard let queue, let timer else { return }
        source?.events = []
        timer.schedule(after: Self.pause)
        let events = FileEvents.read(from: queue)
        // A new watch may have events before its check is known; the check then runs anyway.
        for number in events.isOverflown ? Set(directories.keys) : events.directories {
            directories[number]?.watches.forEach { $0.notify() }
        }
        for (number, names) in events.names { directories[number]?.watches(of: names).forEach { $0.notify() } }
    }
}

/// The checks that wait for changes in one directory.
struct WatchedDirectory {
    /// If more entries than this change at the same time, all patterns count as matched.
    private static let maximumNames = 64

    private var waiting: [(watch: FileWatch, entry: FileEntry)] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// All checks that wait for changes in the directory.
    var watches: [FileWatch] { waiting.map(\.watch) }

    mutating func insert(_ watch: FileWatch, for entry: FileEntry) { waiting.append((watch, entry)) }

    mutating func remove(_ watch: FileWatch) { waiting.removeAll { $0.watch === watch } }

    /// Returns the checks that depend on these entries.
    func watches(of changed: Set<[UInt8]>) -> [FileWatch] {
        let areMany = changed.count > Self.maximumNames
        return waiting.filter { _, entry in
            guard entry.isPattern else { return changed.contains(Array(entry.name.utf8)) }
            return areMany || changed.contains { FileEntry.matches(entry.name, $0) }
        }.map(\.watch)
    }
}
