// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd

/// Has the kernel tell of changes in the directories of files, by one inotify(7) instance.
///
/// Without a watch, because a directory cannot be read or there are too many watches, files are only looked at when the schedule says so.
@EventLoop
final class FileWatcher: SharedResource {
    /// What may make a check find something else: not IN_CREATE, since a new file is only what it will be when it has been written.
    private nonisolated static let events: UInt32 = [
        IN_CLOSE_WRITE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_MOVE_SELF,
    ].reduce(UInt32(IN_ONLYDIR)) { $0 | UInt32($1) }
    /// How long nothing is read after something was: anybody who may write to a directory can cause as many events as he likes.
    private static let pause = Duration.milliseconds(100)

    /// To find a directory may take as long as its disk does.
    private let threads = BlockingThreads(limit: 8)
    private let queue: OwnedDescriptor?
    private var source: IOSource?
    private var timer: TimerSource?
    /// Those who wait for changes, by the number of the kernel's watch.
    private var watches: [Int32: [FileWatch]] = [:]

    /// How many directories the kernel watches.
    var watchCount: Int { watches.count }

    init(in environment: SourceEnvironment) {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        queue = descriptor < 0 ? nil : OwnedDescriptor(adopting: descriptor)
        guard let queue else { return }
        source = try? IOSource(descriptor: queue.rawValue, events: .readable) { [weak self] _ in self?.read() }
        timer = try? TimerSource { [weak self] in self?.source?.events = .readable }
    }

    func close(within limit: Duration) async {
        source?.cancel()
        timer?.cancel()
    }

    /// Tells `watch` of changes from now on, the first time at once: the file may have changed since it was looked at.
    func begin(_ watch: FileWatch) async {
        guard watch.number == nil, let queue else { return }
        let number = try? await threads.run { [directory = watch.directory] in
            inotify_add_watch(queue.rawValue, directory, Self.events)
        }
        guard let number, number >= 0, watch.number == nil else { return }
        watch.number = number
        watch.onEnd = { [weak self, unowned watch] in self?.release(watch) }
        watches[number, default: []].append(watch)
        watch.notify()
    }

    private func release(_ watch: FileWatch) {
        guard let number = watch.number, let queue else { return }
        watch.number = nil
        watches[number]?.removeAll { $0 === watch }
        guard watches[number]?.isEmpty == true else { return }
        watches[number] = nil
        inotify_rm_watch(queue.rawValue, number)
    }

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
