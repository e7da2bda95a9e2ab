// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor

/// Records every change, in the journal and in the history, one entry each.
///
/// A server that changes all the time is limited: after ``burst`` entries it gets one in each interval, which says how many were left out. The last
/// one that was left out is recorded later, so the newest entry is always current; so is the removal of a server that has an entry. All servers together stay below journald's default limit for a
/// service, 10,000 entries in 30 s, because journald would drop even the newest. Selections are limited like the changes of one server. Additions and
/// removals are counted if there are too many to list.
@EventLoop
final class ChangeRecorder {
    /// The number of entries that a server may write at once.
    private nonisolated static let burst = 20
    /// The time until it may write one more.
    private static let interval = Duration.seconds(1)
    /// The number of entries that all servers together may write at once.
    nonisolated static let burstOfAll = 2000
    /// The number of entries that they may write more after each interval.
    private static let entriesPerInterval = 200

    /// The entries that a server may still write, and those that were left out.
    private final class Account {
        let name: ServerName
        var credit = burst
        var lastText: String?
        /// When the text or the level that it shows has changed.
        var lastChange = Timestamp(milliseconds: 0)
        /// The changes that were left out since the last entry; the newest of them is still to be written.
        var omitted = 0
        /// The revision of the newest of them.
        var newestRevision = 0
        /// The state with the newest text and level, and the client that posted these.
        var newest = (snapshot: ServerSnapshot?.none, caller: Caller?.none)
        /// Whether an entry has shown that the server exists.
        var isRecorded = true

        init(of name: ServerName) { self.name = name }

        /// Notes a change that is left out.
        func omit(_ snapshot: ServerSnapshot, _ caller: Caller?) {
            // A change that leaves text and level as they are, such as to stale, does not hide who posted them.
            if omitted == 0 || caller != nil || !shows(snapshot.state.status) { newest = (snapshot, caller) }
            omitted += 1
            newestRevision = snapshot.state.revision
        }

        private func shows(_ status: Status?) -> Bool {
            let newest = newest.snapshot?.state.status
            return newest?.text == status?.text && newest?.level == status?.level
        }

        func earn() { credit = min(burst, credit + 1) }
    }

    /// A removal that was left out.
    private struct Removal {
        let server: ServerState
        let omitted: Int
        let at: Timestamp
        let caller: Caller?
    }

    private let monitor: StatusMonitor
    private let sinks: [any ChangeSink]
    private let clock: @Sendable () -> Moment
    private var watch: Watch?
    private var timer: TimerSource?
    private var isTimerRunning = false
    private var isReadScheduled = false
    private var accounts: [ServerName: Account] = [:]
    /// The states of servers from before a restart, until their sources have reported again.
    private var restored: [ServerName: ServerState] = [:]
    /// The account that was used last: a server that posts much posts again.
    private var lastAccount: Account?
    /// The entries that all servers together may still write.
    private var credit = burstOfAll
    /// The servers with a change or a removal that was left out, the longest waiting first.
    private var waiting: [ServerName] = []
    private var waitingNames: Set<ServerName> = []
    /// The removals that are still to be written: of servers that an entry has shown, so there are no more of them than entries.
    private var removals: [ServerName: Removal] = [:]
    /// The selections that may still be written.
    private var selectionCredit = burst
    /// The client that caused the last selection.
    private var selectionCaller: Caller?
    private var omissions = Omissions()

    /// Creates a recorder of all changes from now on.
    ///
    /// - Parameters:
    ///   - monitor: the monitor whose changes it records.
    ///   - sinks: what takes them, in this order.
    ///   - clock: returns the current time.
    init(
        monitor: StatusMonitor, sinks: [any ChangeSink],
        clock: @escaping @Sendable () -> Moment = Moment.now
    ) throws {
        self.monitor = monitor
        self.sinks = sinks
        self.clock = clock
        timer = try TimerSource(accuracy: .milliseconds(100)) { [weak self] in self?.earn() }
        watch = try monitor.watch(.all) { [weak self] urgency in EventLoop.perform { self?.wake(urgency) }
        }
        read()
    }

    /// Writes what is left to write, and stops.
    func close() {
        read()
        writeOmitted(waiting.count)
        writeOmissions()
        watch = nil
        timer?.cancel()
    }

    private func wake(_ urgency: WatchUrgency) {
        if urgency == .overdue { return read() }
        guard !isReadScheduled else { return }
        isReadScheduled = true
        EventLoop.atEndOfTurn { [weak self] in
            self?.isReadScheduled = false
            self?.read()
        }
    }

    private func read() {
        guard let watch else { return }
        while let event = watch.next() { write(event) }
    }

    private func write(_ event: Event) {
        switch event.kind {
        case .changed: if let snapshot = event.snapshot { writeChange(snapshot, event.caller) }
        case .selected:
            selectionCaller = event.caller
            writeSelection(event.server)
        case .added: if let server = event.server { writeAddition(server, event.caller) }
        case .removed: if let server = event.server { writeRemoval(server, event.caller) }
        case .gap: for sink in sinks { sink.recordOmissions("\(event.missed.map { "\($0) " } ?? "")events") }
        case .snapshot:
            restored = [:]
            while let servers = watch?.nextServers(limit: 256) {
                for server in servers {
                    account(of: server.name).lastText = server.headline
                    if server.isRestored { restored[server.name] = server }
                }
            }
        case .updated, .refreshing, .refreshed, .alive: break
        }
    }

    // MARK: Servers and selections

    private func writeAddition(_ server: ServerState, _ caller: Caller?) {
        if takeCredit() { return record(.added, server, by: caller) }
        omissions.additions += 1
        let account = account(of: server.name)
        account.isRecorded = false
        guard let removal = removals.removeValue(forKey: server.name) else { return }
        // It still exists, but is another one.
        omissions.removals += 1
        account.isRecorded = true
        account.omitted = removal.omitted
        account.omit(ServerSnapshot(server), caller)
    }

    private func writeRemoval(_ server: ServerState, _ caller: Caller?) {
        let account = accounts.removeValue(forKey: server.name)
        restored[server.name] = nil
        let omitted = account?.omitted ?? 0
        lastAccount = nil
        if takeCredit() {
            record(.removed, server, omitted: omitted, by: caller)
        } else if account?.isRecorded == false {
            omissions.removals += 1
            omissions.changesOfRemoved += omitted
        } else {
            removals[server.name] = Removal(server: server, omitted: omitted, at: clock().wall, caller: caller)
            enqueue(server.name)
        }
    }

    private func writeSelection(_ server: ServerState?) {
        startTimer()
        guard selectionCredit > 0 else {
            omissions.selections += 1
            return
        }
        selectionCredit -= 1
        // The newest one that was left out is being written.
        let omitted = max(0, omissions.selections - 1)
        omissions.selections = 0
        // What came before the selection must not come after it in the history.
        if let server, let account = accounts[server.name], account.omitted > 0 {
            credit -= 1
            writeOmitted(server, account)
        }
        record(.selected, server, omitted: omitted, by: selectionCaller)
    }

    /// Takes the credit for one entry from that of all servers; returns whether there was enough.
    private func takeCredit() -> Bool {
        startTimer()
        guard credit > 0 else { return false }
        credit -= 1
        return true
    }

    /// Writes what was left out, except changes.
    private func writeOmissions() {
        if omissions.selections > 0 {
            selectionCredit = max(1, selectionCredit)
            writeSelection(try? monitor.selectedState())
        }
        if let servers = omissions.servers {
            for sink in sinks { sink.recordOmissions(servers) }
        }
        omissions = Omissions()
    }

    // MARK: Changes

    private func account(of name: ServerName) -> Account {
        if let lastAccount, lastAccount.name == name { return lastAccount }
        let account = accounts[name] ?? Account(of: name)
        accounts[name] = account
        lastAccount = account
        return account
    }

    private func writeChange(_ snapshot: ServerSnapshot, _ caller: Caller?) {
        startTimer()
        let account = account(of: snapshot.state.name)
        if !restored.isEmpty, takeConfirmation(snapshot.state) { return }
        if account.omitted == 0, account.credit > 0, credit > 0 {
            account.credit -= 1
            credit -= 1
            write(change: snapshot.state, account, by: caller)
        } else {
            if account.omitted == 0 { enqueue(snapshot.state.name) }
            account.omit(snapshot, caller)
        }
    }

    /// Takes over a state; returns whether it only confirms that from before a restart.
    @inline(never) private func takeConfirmation(_ state: ServerState) -> Bool {
        guard let old = restored.removeValue(forKey: state.name) else { return false }
        guard state.isRestored else { return old.isShown(like: state) }
        restored[state.name] = state
        return false
    }

    /// Queues a server for an entry when there is credit again.
    @inline(never) private func enqueue(_ name: ServerName) {
        // It may still be queued from before it was removed and added again.
        if waitingNames.insert(name).inserted { waiting.append(name) }
    }

    private func write(change server: ServerState, _ account: Account, by caller: Caller?, at time: Timestamp? = nil) {
        // The newest one that was left out is being written.
        let omitted = max(0, account.omitted - 1)
        account.omitted = 0
        account.newest = (nil, nil)
        account.isRecorded = true
        record(.changed, server, oldText: account.lastText, omitted: omitted, by: caller, at: time)
        account.lastText = server.headline
        account.lastChange = server.status?.changedAt ?? account.lastChange
    }

    /// Writes the current state, or the removal, of the longest waiting servers, at most `most`; returns how many it wrote.
    ///
    /// To be called when all events have been read.
    @discardableResult
    private func writeOmitted(_ most: Int) -> Int {
        var (written, looked) = (0, 0)
        for name in waiting {
            if written == most { break }
            looked += 1
            waitingNames.remove(name)
            if let removal = removals.removeValue(forKey: name) {
                record(.removed, removal.server, omitted: removal.omitted, by: removal.caller, at: removal.at)
                written += 1
                continue
            }
            // It may have been removed, and even added again.
            guard let account = accounts[name], account.omitted > 0 else { continue }
            guard let server = try? monitor.state(of: name) else { continue }
            writeOmitted(server, account)
            written += 1
        }
        waiting.removeFirst(looked)
        return written
    }

    /// Writes a server's state in place of its changes that were left out.
    private func writeOmitted(_ server: ServerState, _ account: Account) {
        var server = server
        // A selection may have changed its revision since.
        server.revision = account.newestRevision
        // When its text or level changed, if they did, which is what matters.
        let time = server.status.flatMap { $0.changedAt > account.lastChange ? $0.changedAt : nil }
        write(change: server, account, by: account.newest.caller, at: time)
    }

    /// Called by the timer; gives credit for one entry to each server, and for more to all together.
    func earn() {
        isTimerRunning = false
        read()
        for account in accounts.values where account.omitted == 0 { account.earn() }
        selectionCredit = min(Self.burst, selectionCredit + 1)
        writeOmissions()
        credit = min(Self.burstOfAll, credit + Self.entriesPerInterval)
        credit -= writeOmitted(credit)
        if credit < Self.burstOfAll || selectionCredit < Self.burst
            || accounts.values.contains(where: { $0.credit < Self.burst })
        {
            startTimer()
        }
    }

    private func startTimer() {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        timer?.schedule(after: Self.interval)
    }

    // MARK: Entries

    private func record(
        _ kind: ChangeKind, _ server: ServerState?, oldText: String? = nil, omitted: Int = 0, by caller: Caller? = nil,
        at time: Timestamp? = nil
    ) {
        let change = Change(
            kind, at: time ?? clock().wall, revision: server?.revision ?? monitor.cursor.revision, server: server,
            omitted: omitted, user: caller?.user)
        let recorded = RecordedChange(change: change, oldText: oldText, caller: caller)
        for sink in sinks { sink.record(recorded) }
    }
}

extension ServerState {
    /// Whether an entry about it would say the same as one about `other`.
    fileprivate func isShown(like other: ServerState) -> Bool {
        status?.text == other.status?.text && status?.level == other.status?.level && phase == other.phase
            && isStale == other.isStale && (phase != .failed || message == other.message)
    }
}
