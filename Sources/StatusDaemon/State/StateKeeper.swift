// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusConfiguration
import StatusModel
import StatusMonitor
import StatusStore

/// Saves all changes, so that they survive a restart.
///
/// Changes are saved in batches, at most a second after the first change. The store's calls run on a separate thread,
/// one at a time, so a slow disk delays only the next batch. Meanwhile the monitor notes the names of changed servers.
/// Changes that could not be saved are in the next batch. ``SavingSchedule`` decides when a batch is due.
@EventLoop
final class StateKeeper {
    /// The number of servers that are copied in one turn.
    private static let serversPerTurn = 256
    /// The time limit of the last batch.
    private static let endTime = Duration.milliseconds(1500)

    private let store: StatusStore
    /// Keeps other daemons from using the directory.
    private let lock: FileLock?
    private let monitor: StatusMonitor
    private let registry: ServerRegistry
    private let alerts: AlertDispatcher
    private var report: StateReport
    private var schedule = SavingSchedule()
    private var history = PendingHistory()
    private var pruning: HistoryPruning
    /// Whether a call of the store is running.
    private var isBusy = false
    /// Ends the current wait.
    private var endWait: (@Sendable (()) -> Void)?
    private let waiters = BatchWaiters()
    /// Whether the next batch has all servers.
    private var hasEverything = false
    /// Whether the next batch says which servers were renamed.
    private var namesMayDiffer = false
    /// Records all changes up to now, so that a batch has the history of its states.
    var readChanges: () -> Void = {}

    /// Creates a keeper that is not running.
    ///
    /// - Parameters:
    ///   - store: the store of `state`.
    ///   - state: the opened state.
    ///   - registry: the servers and their sources.
    ///   - logger: reports when nothing can be saved, and when it can again.
    init(
        _ store: StatusStore, of state: OpenedState, registry: ServerRegistry, alerts: AlertDispatcher, logger: Logger
    ) {
        self.store = store
        self.registry = registry
        self.alerts = alerts
        (lock, monitor) = (state.lock, registry.monitor)
        let now = Moment.now()
        pruning = HistoryPruning(by: HistoryClock(after: state.opening.contents.historyTime(at: now), at: now))
        report = StateReport(path: store.path, logger: logger)
        report.note(state.opening)
        if state.opening.failure != nil {
            schedule.failed(at: .now)
            keepEverything()
        }
        alerts.onUnsaved = { [weak self] in self?.noteChange() }
        alerts.save = { [weak self] in await self?.flush() }
        monitor.scheduleSaving { [weak self] in EventLoop.perform { self?.noteChange() } }
    }

    /// Problems that an administrator should know of, as phrases.
    var notices: [String] { report.notices }

    var keepsHistory: Bool { pruning.keepsHistory }

    /// Applies the limits of a new configuration.
    func apply(_ limits: HistoryLimits) {
        let keptHistory = keepsHistory
        pruning.apply(limits)
        if !keepsHistory { history.removeAll() }
        if keepsHistory, !keptHistory { keepEverything() }
        namesMayDiffer = true
        schedule.pruneSoon()
        noteChange()
    }

    /// Saves changes until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await wait(until: isBusy ? .now + .seconds(86_400) : schedule.next)
            if isBusy { continue }
            if schedule.isDue(at: .now) {
                await save()
            } else if schedule.isPruningDue(at: .now) {
                prune()
            }
        }
    }

    /// Waits until all changes up to now are saved, or saving has failed.
    func flush() async {
        let isPending = schedule.isPending
        guard isPending || waiters.isSaving else { return }
        if isPending {
            schedule.hurry()
            endWait?(())
        }
        await waiters.wait(forNext: isPending)
    }

    /// Saves the last changes, and the log with which streams continue after a restart; gives up after a time limit.
    func close() async {
        let end = ContinuousClock.now + Self.endTime
        while isBusy, .now < end { await wait(until: end) }
        guard !isBusy else { return report.noteUnsavedEnd() }
        var result = await saveLast(until: end)
        if case .failure(let failure) = result, failure.remedy == .beginAnew {
            keepEverything()
            result = await saveLast(until: end)
        }
        guard case .success = result else { return report.noteUnsavedEnd() }
        _ = await BlockingThread.run(within: max(.zero, end - .now)) { [store] in store.close() }
    }

    /// Saves the last changes and the log; nil if that takes too long.
    private func saveLast(until end: ContinuousClock.Instant) async -> Result<Void, StoreFailure>? {
        let (names, _) = monitor.takeUnsaved()
        let (entries, log) = monitor.entries
        var batch = makeBatch(log)
        let taken = history.take()
        batch.changes =
            taken.changes.map { Change($0) } + [Change(.stopped, at: log.notedAt.wall, revision: log.revision)]
        add(names[...], to: &batch)
        batch.entries = entries
        let last = batch
        let result = await BlockingThread.run(within: max(.zero, end - .now)) { [store] in
            Result { () throws(StoreFailure) in try store.save(last) }
        }
        // A second attempt needs them, too.
        history.putBack(taken)
        alerts.keepUnsaved(last.told.map(\.0))
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

    /// Starts a call of the store; there must be no other.
    private func start<Value: Sendable>(
        _ body: @escaping @Sendable (StatusStore) throws(StoreFailure) -> Value,
        then: @escaping @EventLoop @Sendable (StateKeeper, Result<Value, StoreFailure>) -> Void
    ) {
        isBusy = true
        BlockingThread.start { [store] in
            let result = Result { () throws(StoreFailure) in try body(store) }
            EventLoop.perform {
                self.isBusy = false
                then(self, result)
                self.endWait?(())
            }
        }
    }

    private func note(_ failure: StoreFailure) {
        switch failure.remedy {
        case .tryAgain: schedule.failed(at: .now)
        case .beginAnew: keepEverything()
        }
        report.note(failure)
    }

    // MARK: Saving

    /// A batch that could not be saved.
    private struct Unsaved: Sendable {
        let failure: StoreFailure
        let names: [ServerName]
        let history: PendingHistory.Batch
    }

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
        let taken = history.take()
        let (told, complete) = (batch.told.map(\.0), batch)
        // What is saved is released on the store's thread, because that of 100,000 servers takes long.
        start({ store -> Unsaved? in
            var batch = complete
            batch.changes = taken.changes.map { Change($0) }
            do throws(StoreFailure) {
                try store.save(batch)
                return nil
            } catch {
                return Unsaved(failure: error, names: names, history: taken)
            }
        }) { keeper, result in
            if case .success(let unsaved?) = result {
                keeper.history.putBack(unsaved.history)
                keeper.monitor.keepUnsaved(unsaved.names)
                keeper.alerts.keepUnsaved(told)
                keeper.namesMayDiffer = true
                keeper.note(unsaved.failure)
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
        alerts.keepAllUnsaved()
    }

    private func makeBatch(_ log: LogMemory) -> StoreBatch {
        var batch = StoreBatch(log: log)
        batch.configuredSelection = registry.configuration.select
        batch.followsWorst = registry.servers.followsWorst
        batch.historyClock = pruning.time()
        batch.keepsHistory = keepsHistory
        batch.beginsHistory = hasEverything && keepsHistory
        batch.told = alerts.takeUnsaved()
        if namesMayDiffer { batch.renamed = registry.renamedServers }
        namesMayDiffer = false
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

    private static func nextTurn() async {
        await withCheckedContinuation { continuation in EventLoop.atNextTurn { continuation.resume() } }
    }

    // MARK: The history

    /// Removes old entries of the history in steps; changes can be saved in between.
    private func prune() {
        let step = pruning.next()
        schedule.beginPruning()
        start({ store throws(StoreFailure) in try store.prune(before: step.oldest, keeping: step.keeping) }) {
            keeper, result in
            let hasMore = try? result.get()
            if hasMore == false, keeper.pruning.ended(step) {
                // A history that was turned on again begins with the current states of all servers.
                keeper.keepEverything()
                keeper.noteChange()
            }
            keeper.schedule.pruned(at: .now, hasMore: hasMore ?? false)
            if case .failure(let failure) = result { keeper.note(failure) }
        }
    }
}

extension StateKeeper: ChangeSink {
    func record(_ change: RecordedChange) -> ChangeReception {
        guard keepsHistory else { return .held }
        if !schedule.isPending { noteChange() }
        return history.add(change)
    }
}
