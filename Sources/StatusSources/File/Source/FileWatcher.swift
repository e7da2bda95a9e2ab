// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Watches the directories of files, and the directories above them, through one inotify(7) instance.
///
/// If a directory cannot be watched, its changes are noticed only at the next check. It may be unreadable, or there are
/// too many watches.
@EventLoop
final class FileWatcher: SharedResource {
    /// The events that may lead to another file: an entry of a directory is created, renamed, removed or gets other
    /// attributes.
    ///
    /// With IN_MASK_ADD, because a directory has one watch for all checks, which may need other events.
    private nonisolated static let events: UInt32 = [
        IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF, IN_MASK_ADD,
    ].reduce(UInt32(IN_ONLYDIR)) { $0 | UInt32($1) }
    /// The pause after each read: users who may write to a directory can cause any number of events.
    ///
    /// The events of other directories wait behind theirs. The kernel queues 16,384, of up to 272 bytes, which takes 18
    /// reads.
    static let pause = Duration.milliseconds(25)
    /// The maximum number of checks whose watches are being added at the same time.
    ///
    /// Those of each check are added on a thread, because a disk may stop answering.
    private static let limit = 8

    private let queue: OwnedDescriptor?
    private var source: IOSource?
    private var timer: TimerSource?
    /// The directories by the number of the kernel's watch; empty if that is about to be removed.
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

    /// Reports changes to `watch` from now on.
    ///
    /// It reports one at once if it begins to watch other directories, because the file may have changed since the last
    /// look.
    ///
    /// Call it after each look, because other directories may have replaced the watched ones. The same directories stay
    /// watched.
    func begin(_ watch: FileWatch) {
        guard !watch.isBeginning, beginning < Self.limit, let queue else { return }
        watch.isBeginning = true
        beginning += 1
        BlockingThread.start { [entries = watch.entries] in
            // From the root to the file: a directory that is created meanwhile is found, or the one above it reports
            // it.
            let numbers = entries.map { Self.addWatch(for: $0, to: queue) }
            EventLoop.perform { self.began(watch, numbers) }
        }
    }

    /// Adds the kernel's watch of an entry's directory, and returns its number; nil if that fails.
    ///
    /// Of the file itself, the end of writing is an event, too, but not each write (IN_MODIFY): a log file would be
    /// looked at all the time.
    private nonisolated static func addWatch(for entry: FileEntry, to queue: OwnedDescriptor) -> Int32? {
        let number = inotify_add_watch(
            queue.rawValue, entry.directory, entry.isFile ? events | UInt32(IN_CLOSE_WRITE) : events)
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
        for case (let entry, let number?) in zip(watch.entries, watch.numbers) {
            directories[number]?.remove(watch, for: entry)
        }
        watch.numbers = []
    }

    /// Removes unneeded watches of the kernel, unless one is being added.
    ///
    /// The new watch may get the number of an unneeded one.
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
        // A new watch may have events before its check is known; the file is looked at then anyway.
        for number in events.isOverflown ? Set(directories.keys) : events.directories {
            directories[number]?.watches.forEach { $0.notify() }
        }
        for (number, names) in events.names { directories[number]?.watches(of: names).forEach { $0.notify() } }
    }
}
