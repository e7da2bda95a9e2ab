// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Has the kernel tell of changes in the directories of files, by one inotify(7) instance.
///
/// Without a watch, because a directory cannot be read or there are too many watches, files are only looked at when the schedule says so.
@EventLoop
final class FileWatcher: SharedResource {
    /// What may make a check find something else.
    private nonisolated static let events: UInt32 = [
        IN_CREATE, IN_CLOSE_WRITE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF,
    ].reduce(UInt32(IN_ONLYDIR)) { $0 | UInt32($1) }
    /// How long nothing is read after something was: anybody who may write to a directory can cause as many events as he likes.
    private static let pause = Duration.milliseconds(100)
    /// How many directories are being found at a time, each on a thread: their disk may stop answering just then.
    private static let limit = 8

    private let queue: OwnedDescriptor?
    private var source: IOSource?
    private var timer: TimerSource?
    /// Those who wait for changes, by the number of the kernel's watch; nobody, if it is about to be removed.
    private var watches: [Int32: [FileWatch]] = [:]
    /// How many directories are being found.
    private var beginning = 0

    /// How many directories the kernel watches.
    var watchCount: Int { watches.count }

    /// Whether no directory is being found.
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

    /// Tells `watch` of changes from now on, and at once if nobody did before: the file may have changed since it was looked at.
    ///
    /// To be called after each look: another directory may be in the place of the one that is watched. The same one stays watched.
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

    /// Removes the kernel's watches that nobody needs, unless one of them may be about to be handed out once more.
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
        // Of a watch that is new there may be events before it is known whom they concern; then the file is looked at anyway.
        guard let watches = watches[number] else { return }
        for watch in watches where events.concern(watch, of: number) { watch.notify() }
        guard events.ended.contains(number) else { return }
        // The directory is gone; a look finds out whether there is another one.
        self.watches[number] = nil
        for watch in watches { watch.number = nil }
    }
}
