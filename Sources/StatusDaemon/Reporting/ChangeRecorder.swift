// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor

/// Reads every change from the event log, for the journal and the history.
@EventLoop
final class ChangeRecorder: EndOfTurnWork {
    private let monitor: StatusMonitor
    private let sinks: [any ChangeSink]
    /// Those for which a change of text alone, as most updates are, is none.
    private let gradeSinks: [any ChangeSink]
    private let clock: @Sendable () -> Moment
    private var watch: Watch?
    private var isReadScheduled = false
    /// What entries would show of servers from before a restart, hashed, until their sources have reported again.
    private var restored: [ServerName: Int] = [:]
    /// While reading: the subject of the last change, if all sinks hold that change back.
    private var heldSubject: RecordedChange.Subject?
    /// The newest change of that subject since then, which replaces the others.
    private var newest: RecordedChange?
    /// Whether that change and those that it replaces are of text alone.
    private var newestIsOfText = false

    /// Creates a recorder of all changes from now on, for sinks that take them in their order.
    ///
    /// - Parameter gradeSinks: more sinks, which do not take changes of text alone.
    init(
        monitor: StatusMonitor, sinks: [any ChangeSink], gradeSinks: [any ChangeSink] = [],
        clock: @escaping @Sendable () -> Moment = Moment.now
    ) throws {
        self.monitor = monitor
        self.sinks = sinks
        self.gradeSinks = gradeSinks
        self.clock = clock
        watch = try monitor.watch(.all) { [weak self] urgency in self?.wake(urgency) }
        read()
    }

    /// Records the remaining changes, and stops.
    func close() {
        read()
        watch = nil
    }

    private nonisolated func wake(_ urgency: WatchUrgency) {
        switch urgency {
        case .overdue: EventLoop.perform(with: self) { $0.read() }
        case .routine: EventLoop.perform(with: self) { $0.scheduleReading() }
        }
    }

    private func scheduleReading() {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        EventLoop.atEndOfTurn(self)
    }

    func turnEnds() {
        isReadScheduled = false
        read()
    }

    /// Records all changes up to now.
    func read() {
        guard let watch else { return }
        let now = clock().wall
        while let event = watch.next() { take(event, at: now) }
        passNewest()
        heldSubject = nil
    }

    private func take(_ event: Event, at now: Timestamp) {
        switch event.kind {
        case .changed:
            if !restored.isEmpty, let server = event.server, isConfirmation(server) { return }
            record(.changed, event, at: now)
        case .selected: record(.selected, event, at: now)
        case .silenced: record(.silenced, event, at: now)
        case .unsilenced: record(.unsilenced, event, at: now)
        case .added: record(.added, event, at: now)
        case .removed:
            if let name = event.server?.name { restored[name] = nil }
            record(.removed, event, at: now)
        case .snapshot: takeSnapshot()
        // There are no gaps: it reads after each eighth of a round of the log.
        case .gap, .updated, .refreshing, .refreshed, .alive: break
        }
    }

    private func takeSnapshot() {
        restored = [:]
        while let servers = watch?.nextServers(limit: 256) {
            for server in servers where server.isRestored { restored[server.name] = server.shownHash }
        }
    }

    /// Whether a report only confirms a status from before the restart, which already has an entry.
    private func isConfirmation(_ server: ServerState) -> Bool {
        guard let old = restored.removeValue(forKey: server.name) else { return false }
        let new = server.shownHash
        if server.isRestored { restored[server.name] = new }
        // This releases the memory of many servers.
        if restored.isEmpty { restored = [:] }
        return !server.isRestored && new == old
    }

    private func record(_ kind: ChangeKind, _ event: Event, at now: Timestamp) {
        var change = RecordedChange(
            kind: kind, at: now, revision: event.cursor.revision, snapshot: event.snapshot, caller: event.caller)
        let isOfText = event.snapshot?.changesOnlyText ?? false
        guard change.isOf(heldSubject) else {
            passNewest()
            return pass(change, isOfText: isOfText)
        }
        if let newest { change.omitted = newest.omitted + 1 }
        newestIsOfText = isOfText && (newest == nil || newestIsOfText)
        newest = change
    }

    private func passNewest() {
        if let change = newest.take() { pass(change, isOfText: newestIsOfText) }
    }

    private func pass(_ change: RecordedChange, isOfText: Bool) {
        var isHeld = true
        for sink in sinks where sink.record(change) == .recorded { isHeld = false }
        if !isOfText { for sink in gradeSinks { _ = sink.record(change) } }
        heldSubject = isHeld ? change.subject : nil
    }
}

extension ServerState {
    /// A hash of what decides the text of an entry; the states of 100,000 servers would take 40 MB.
    fileprivate var shownHash: Int {
        var hasher = Hasher()
        hasher.combine(status?.text)
        hasher.combine(status?.level)
        hasher.combine(phase)
        hasher.combine(isStale)
        if phase == .failed { hasher.combine(message) }
        return hasher.finalize()
    }
}
