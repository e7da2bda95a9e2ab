// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusStore

/// Saves what has changed, so that a restart forgets nothing.
///
/// Changes are saved together, at most a second after the first of them. The store's calls run on a separate thread, one at a time: a slow disk
/// delays only the next batch. Meanwhile the monitor notes which servers have changed, which takes no more memory than a name for each.
@EventLoop
final class StateKeeper {
    /// The number of servers that are copied in a turn.
    private static let serversPerTurn = 256
    /// After this time without an answer, the disk is reported.
    private static let usualTime = Duration.seconds(30)
    /// How long the last batch may take.
    private static let endTime = Duration.milliseconds(1500)

    private let store: StatusStore
    private let monitor: StatusMonitor
    private let registry: ServerRegistry
    private var report: StateReport
    private var schedule = SavingSchedule()
    private var limits = HistoryLimits()
    /// Tells which entries of the history are too old.
    private var historyClock: HistoryClock
    private var history = PendingHistory()
    /// When a call of the store counts as one that hangs; nil if none runs.
    private var hangTime: ContinuousClock.Instant?
    private var isBusy: Bool { hangTime != nil }
    /// When it began; nil if none runs.
    private var callTime: ContinuousClock.Instant?
    /// Ends the current wait.
    private var endWait: (@Sendable (()) -> Void)?
    private let waiters = BatchWaiters()
    /// Whether the whole history is being removed, because it was turned off; it may have been turned on again since.
    private var isEmptying = false
    /// Whether the next batch has all servers.
    private var hasEverything = false
    /// Records all changes up to now, so that a batch has the history of the states in it.
    var readChanges: () -> Void = {}

    /// Creates a keeper that is not running.
    ///
    /// - Parameters:
    ///   - store: the store, which was opened.
    ///   - opening: what it found.
    ///   - registry: the servers and their sources.
    ///   - logger: reports when nothing can be saved, and when it can again.
    init(_ store: StatusStore, _ opening: StatusStore.Opening, registry: ServerRegistry, logger: Logger) {
        self.store = store
        self.registry = registry
        monitor = registry.monitor
        let now = Moment.now()
        historyClock = HistoryClock(after: opening.contents.historyTime(at: now), at: now)
        report = StateReport(path: store.path, logger: logger)
        report.note(opening)
        if opening.failure != nil { schedule.failed(at: .now) }
        monitor.scheduleSaving { [weak self] in EventLoop.perform { self?.noteChange() } }
    }

    /// What an administrator should know, as phrases: why nothing is saved, or that a file was set aside.
    var notices: [String] {
        let notices = report.notices
        guard notices.isEmpty, let callTime, .now - callTime >= BatchWaiters.limit else { return notices }
        let seconds = Duration.seconds(Int64((.now - callTime) / .seconds(1)))
        return ["the newest changes are not saved: the disk has not answered for \(TimeSpan.text(seconds))"]
    }

    /// Whether changes are kept, too.
    var keepsHistory: Bool { limits.changes > 0 }

    /// Applies the limits of a new configuration.
    func apply(_ limits: HistoryLimits) {
        let keptHistory = keepsHistory
        self.limits = limits
        if !keepsHistory {
            history.removeAll()
            isEmptying = true
        }
        if keepsHistory, !keptHistory { keepEverything() }
        schedule.pruneSoon()
        endWait?(())
    }

    /// Saves changes until the task is cancelled.
    func run() async {
        checkHistory()
        while !Task.isCancelled {
            await wait(until: hangTime ?? schedule.next)
            if let hangTime {
                if hangTime <= .now { noteHang() }
            } else if schedule.isDue(at: .now) {
                await save()
            } else if schedule.isPruningDue(at: .now) {
                prune()
            }
        }
    }

    /// Returns when all changes up to now are saved, or cannot be saved now.
    func flush() async {
        let isPending = schedule.isPending
        guard isPending || waiters.isSaving else { return }
        if isPending {
            schedule.hurry()
            endWait?(())
        }
        await waiters.wait(forNext: isPending)
    }

    /// Saves the last changes, and the log, with which streams continue after a restart, if that does not take too long.
    func close() async {
        let end = ContinuousClock.now + Self.endTime
        while isBusy, .now < end { await wait(until: end) }
        guard !isBusy else { return report.noteUnsavedEnd() }
        var result = await saveLast(until: end)
        if case .failure(let failure) = result, failure.needsEverything {
            keepEverything()
            result = await saveLast(until: end)
        }
        guard let result else { return report.noteUnsavedEnd() }
        if case .failure = result { report.noteUnsavedEnd() }
        _ = await BlockingThread.run(within: max(.zero, end - .now)) { [store] in store.close() }
    }

    /// Saves the last changes and the log; nil if that takes too long.
    private func saveLast(until end: ContinuousClock.Instant) async -> Result<Void, StoreFailure>? {
        let (names, _) = monitor.takeUnsaved()
        let (entries, log) = monitor.entries
        var batch = makeBatch(log)
        let changes = history.take()
        batch.changes = changes.map { Change($0) } + [Change(.stopped, at: log.notedAt.wall, revision: log.revision)]
        add(names[...], to: &batch)
        batch.entries = entries
        let last = batch
        let result: Result<Void, StoreFailure>? = await BlockingThread.run(within: max(.zero, end - .now)) { [store] in
            do throws(StoreFailure) { return .success(try store.save(last)) } catch { return .failure(error) }
        }
        // A second attempt must have them, too.
        history.putBack(changes)
        return result
    }

    // MARK: Waiting

    private func noteChange() {
        schedule.notePending()
        endWait?(())
    }

    private func wait(until time: ContinuousClock.Instant) async {
        let rest = time - .now
        guard rest > .zero else { return }
        await TimedWait<Void>.run(within: rest) { endWait = $0 }
        endWait = nil
    }

    /// Starts a call of the store, which may hang; only one runs at a time.
    private func start<Value: Sendable>(
        _ body: @escaping @Sendable (StatusStore) throws(StoreFailure) -> Value,
        then: @escaping @EventLoop @Sendable (StateKeeper, Result<Value, StoreFailure>) -> Void
    ) {
        (callTime, hangTime) = (.now, .now + Self.usualTime)
        BlockingThread.start { [store] in
            let result: Result<Value, StoreFailure>
            do throws(StoreFailure) { result = .success(try body(store)) } catch { result = .failure(error) }
            EventLoop.perform {
                (self.callTime, self.hangTime) = (nil, nil)
                then(self, result)
                self.endWait?(())
            }
        }
    }

    /// Reports a call that hangs, once.
    private func noteHang() {
        hangTime = .now + .seconds(86_400)
        // The next batch shows that it is over.
        schedule.notePending()
        report.noteHang(after: Self.usualTime)
    }

    // MARK: Saving

    private func save() async {
        readChanges()
        let (names, log) = monitor.takeUnsaved()
        schedule.begin(at: .now)
        waiters.savingBegan()
        var batch = makeBatch(log)
        var rest = names[...]
        while !rest.isEmpty {
            add(rest.prefix(Self.serversPerTurn), to: &batch)
            rest = rest.dropFirst(Self.serversPerTurn)
            if !rest.isEmpty { await Self.nextTurn() }
        }
        let changes = history.take()
        batch.changes = changes.map { Change($0) }
        let complete = batch
        start({ store throws(StoreFailure) in try store.save(complete) }) { keeper, result in
            if case .failure(let failure) = result {
                keeper.history.putBack(changes)
                keeper.monitor.keepUnsaved(names)
                keeper.note(failure)
            } else {
                keeper.noteSaved()
            }
            keeper.waiters.savingEnded()
        }
    }

    private func noteSaved() {
        hasEverything = false
        schedule.succeeded()
        report.noteSaved(droppedChanges: history.dropped)
        history.noteSaved()
    }

    /// Saves all servers with the next batch.
    private func keepEverything() {
        hasEverything = true
        monitor.keepAllUnsaved()
    }

    private func makeBatch(_ log: LogMemory) -> StoreBatch {
        var batch = StoreBatch(log: log)
        batch.configuredSelection = registry.configuration.select
        batch.historyClock = historyTime()
        batch.beginsHistory = hasEverything && keepsHistory
        return batch
    }

    private func add(_ names: ArraySlice<ServerName>, to batch: inout StoreBatch) {
        for (name, memory) in zip(names, monitor.save(names)) {
            if let memory {
                batch.servers.append(StoredServer(memory, source: registry.memory(of: name)))
            } else {
                batch.removed.append(name)
            }
        }
    }

    private func note(_ failure: StoreFailure) {
        if failure.needsEverything {
            keepEverything()
            report.noteNewFile(failure)
        } else {
            schedule.failed(at: .now)
            report.note(failure)
        }
    }

    private static func nextTurn() async {
        await withCheckedContinuation { continuation in EventLoop.atNextTurn { continuation.resume() } }
    }

    // MARK: The history

    /// Looks for damage in the history, beside the other calls of the store.
    private func checkHistory() {
        BlockingThread.start { [store] in
            if store.findsDamage() { EventLoop.perform { self.noteChange() } }
        }
    }

    private func historyTime() -> Timestamp { historyClock.time(at: .now(), tolerance: limits.keep / 10) }

    /// Removes old entries of the history, in steps between which changes are saved.
    private func prune() {
        let oldest = Timestamp(milliseconds: historyTime().milliseconds - Int64(limits.keep / .milliseconds(1)))
        // If it is turned off during this step, it is not emptied by it.
        let isEmptying = isEmptying
        let keeping = isEmptying ? 0 : limits.changes
        schedule.beginPruning()
        start({ store throws(StoreFailure) in try store.prune(before: oldest, keeping: keeping) }) { keeper, result in
            let hasMore = try? result.get()
            if isEmptying, hasMore == false { keeper.noteEmptied() }
            keeper.schedule.pruned(at: .now, hasMore: hasMore ?? false)
            if case .failure(let failure) = result { keeper.note(failure) }
        }
    }

    /// A history that was turned on again begins with the servers as they are.
    private func noteEmptied() {
        isEmptying = false
        if keepsHistory {
            keepEverything()
            noteChange()
        }
    }
}

extension StateKeeper: ChangeSink {
    func record(_ change: RecordedChange) {
        guard keepsHistory else { return }
        history.add(change)
        if !schedule.isPending { noteChange() }
    }
}
