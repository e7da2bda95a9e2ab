// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Watches the directories of files through one inotify(7) instance.
///
/// If a directory cannot be watched, its files are checked only once in each interval. It may be unreadable, or there are too many watches.
@EventLoop
final class FileWatcher: SharedResource {
    /// The events that may change the result of a check.
    private nonisolated static let events: UInt32 = [
        IN_CREATE, IN_CLOSE_WRITE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF,
    ].reduce(UInt32(IN_ONLYDIR)) { $0 | UInt32($1) }
    /// The pause after each read: users who may write to a directory can cause any number of events.
    ///
    /// The events of other directories wait behind theirs. The kernel queues 16,384, of up to 272 bytes, which takes 18 reads.
    static let pause = Duration.milliseconds(25)
    /// The maximum number of watches that are being added at the same time.
    ///
    /// Each is added on its own thread, because a disk may stop answering.
    private static let limit = 8

    private let queue: OwnedDescriptor?
    private var source: IOSource?
    private var timer: TimerSource?
    /// The checks that wait for changes, by the kernel's watch; none if that is about to be removed.
    private var watches: [Int32: [FileWatch]] = [:]
    /// The number of watches that are being added.
    private var beginning = 0

    /// The number of the kernel's watches.
    var watchCount: Int { watches.count }

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
    /// It reports one at once if it was not watching, because the file may have changed since the last look.
    ///
    /// Call it after each look, because another directory may have replaced the watched one. The same directory stays watched.
    func begin(_ watch: FileWatch) {
        guard !watch.isBeginning, beginning < Self.limit, let queue else { return }
        watch.isBeginning = true
        beginning += 1
        BlockingThread.start { [directory = watch.directory] in
            let number = inotify_add_watch(queue.rawValue, directory, Self.events)
            EventLoop.perform { self.began(watch, number) }
        }
    }

    private func began(_ watch: FileWatch, _ number: Int32) {
        watch.isBeginning = false
        beginning -= 1
        if watch.number != number {
            leave(watch)
            if number >= 0 { enter(watch, number) }
        }
        removeUnneeded()
    }

    private func enter(_ watch: FileWatch, _ number: Int32) {
        watches[number, default: []] += watch.hasEnded ? [] : [watch]
        guard !watch.hasEnded else { return }
        watch.number = number
        watch.onEnd = { [weak self, weak watch] in
            if let watch { self?.leave(watch) }
            self?.removeUnneeded()
        }
        watch.notify()
    }

    private func leave(_ watch: FileWatch) {
        guard let number = watch.number else { return }
        watch.number = nil
        watches[number]?.removeAll { $0 === watch }
    }

    /// Removes unneeded watches of the kernel, unless one is being added.
    ///
    /// The new watch may get the number of an unneeded one.
    private func removeUnneeded() {
        guard beginning == 0, let queue else { return }
        for number in watches.filter({ $0.value.isEmpty }).keys {
            watches[number] = nil
            inotify_rm_watch(queue.rawValue, number)
        }
    }

    // MARK: Events

    private func read() {
        guard let queue, let timer else { return }
        source?.events = []
        timer.schedule(after: Self.pause)
        let events = FileEvents.read(from: queue)
        for number in events.isOverflown ? Set(watches.keys) : events.watches { take(events, of: number) }
    }

    private func take(_ events: FileEvents, of number: Int32) {
        // A new watch may have events before its check is known; the file is looked at then anyway.
        guard let watches = watches[number] else { return }
        for watch in watches where events.concern(watch, of: number) { watch.notify() }
        guard events.ended.contains(number) else { return }
        // The directory was removed; the next look finds out whether there is another one.
        self.watches[number] = nil
        for watch in watches { watch.number = nil }
    }
}
