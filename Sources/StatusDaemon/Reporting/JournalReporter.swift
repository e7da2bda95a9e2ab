// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel
import StatusMonitor

/// Writes every event to the journal (or to standard error), one entry each: the journal is the history.
///
/// A server that changes all the time is limited: after ``burst`` entries it gets one in each interval, which says how many were left out. The last
/// one that was left out is written later, so the newest entry is always current. All servers together stay below journald's default limit for a
/// service, 10000 entries in 30 s, because journald would drop even the newest. Selections are limited like the changes of one server. Additions and
/// removals are counted if there are too many to list.
@EventLoop
final class JournalReporter {
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
        /// The changes that were left out since the last entry; the newest of them is still to be written.
        var omitted = 0
        /// The revision of the newest of them.
        var newest = 0

        init(of name: ServerName) { self.name = name }

        func earn() { credit = min(burst, credit + 1) }
    }

    private let monitor: StatusMonitor
    private let logger: Logger
    private var watch: Watch?
    private var timer: TimerSource?
    private var isTimerRunning = false
    private var isReadScheduled = false
    private var accounts: [ServerName: Account] = [:]
    /// The account that was used last: a server that posts much posts again.
    private var lastAccount: Account?
    /// The entries that all servers together may still write.
    private var credit = burstOfAll
    /// The servers with changes that were left out, the longest waiting first.
    private var waiting: [ServerName] = []
    private var waitingNames: Set<ServerName> = []
    /// The selections that may still be written.
    private var selectionCredit = burst
    private var omissions = JournalOmissions()

    init(monitor: StatusMonitor, logger: Logger) throws {
        self.monitor = monitor
        self.logger = logger
        timer = try TimerSource(accuracy: .milliseconds(100)) { [weak self] in self?.earn() }
        watch = try monitor.watch(.all) { [weak self] urgency in EventLoop.perform { self?.wake(urgency) } }
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
        case .changed: if let snapshot = event.snapshot { writeChange(snapshot) }
        case .selected: writeSelection(event.server)
        case .added: if let server = event.server { writeAddition(server) }
        case .removed: if let server = event.server { writeRemoval(server) }
        case .gap: logger.notice("events missed", metadata: ["missed": "\(event.missed ?? 0)"])
        case .snapshot:
            while let servers = watch?.nextServers(limit: 256) {
                for server in servers { account(of: server.name).lastText = server.headline }
            }
        case .updated, .refreshing, .refreshed, .alive: break
        }
    }

    // MARK: Servers and selections

    private func writeAddition(_ server: ServerState) {
        if takeCredit() { write(.added, server, "\(server.name) added") } else { omissions.additions += 1 }
    }

    private func writeRemoval(_ server: ServerState) {
        let omitted = accounts[server.name]?.omitted ?? 0
        accounts[server.name] = nil
        lastAccount = nil
        guard takeCredit() else {
            omissions.removals += 1
            omissions.changesOfRemoved += omitted
            return
        }
        let metadata: Logger.Metadata = omitted > 0 ? ["omitted": .string(String(omitted))] : [:]
        write(.removed, server, "\(server.name) removed\(note(ofOmitted: omitted))", metadata: metadata)
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
        var metadata: Logger.Metadata = [:]
        if omitted > 0 { metadata["omitted"] = .string(String(omitted)) }
        let note = omitted > 0 ? " (\(omitted) earlier selections left out)" : ""
        guard let server else {
            return logger.log(.selected, level: .info, "no server selected\(note)", metadata: metadata)
        }
        write(.selected, server, "selected \(server.name): \(server.markedHeadline)\(note)", metadata: metadata)
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
            logger.log(.serversOmitted, level: .info, "left out earlier: \(servers)")
        }
        omissions = JournalOmissions()
    }

    // MARK: Changes

    private func account(of name: ServerName) -> Account {
        if let lastAccount, lastAccount.name == name { return lastAccount }
        let account = accounts[name] ?? Account(of: name)
        accounts[name] = account
        lastAccount = account
        return account
    }

    private func writeChange(_ snapshot: ServerSnapshot) {
        startTimer()
        let account = account(of: snapshot.state.name)
        if account.omitted == 0, account.credit > 0, credit > 0 {
            account.credit -= 1
            credit -= 1
            write(change: snapshot.state, account)
        } else {
            if account.omitted == 0 { enqueue(snapshot.state.name) }
            account.omitted += 1
            account.newest = snapshot.state.revision
        }
    }

    /// Queues a server for an entry when there is credit again.
    @inline(never) private func enqueue(_ name: ServerName) {
        // It may still be queued from before it was removed and added again.
        if waitingNames.insert(name).inserted { waiting.append(name) }
    }

    private func write(change server: ServerState, _ account: Account) {
        // The newest one that was left out is being written.
        let omitted = max(0, account.omitted - 1)
        var metadata: Logger.Metadata = [:]
        if let old = account.lastText { metadata["old-text"] = .string(old) }
        if omitted > 0 { metadata["omitted"] = .string(String(omitted)) }
        account.omitted = 0
        account.lastText = server.headline
        write(
            .changed, server, "\(server.name): \(server.markedHeadline)\(note(ofOmitted: omitted))", metadata: metadata)
    }

    private func note(ofOmitted count: Int) -> String {
        let changes = count == 1 ? "change" : "changes"
        return count > 0 ? " (\(count) earlier \(changes) left out)" : ""
    }

    /// Writes the current state of the longest waiting servers, at most `most`; returns how many it wrote.
    ///
    /// To be called when all events have been read.
    @discardableResult
    private func writeOmitted(_ most: Int) -> Int {
        var (written, looked) = (0, 0)
        for name in waiting {
            if written == most { break }
            looked += 1
            waitingNames.remove(name)
            // It may have been removed, and even added again.
            guard let account = accounts[name], account.omitted > 0 else { continue }
            guard var server = try? monitor.state(of: name) else { continue }
            // A selection may have changed its revision since.
            server.revision = account.newest
            write(change: server, account)
            written += 1
        }
        waiting.removeFirst(looked)
        return written
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

    private func write(
        _ id: MessageID, _ server: ServerState, _ message: Logger.Message, metadata: Logger.Metadata = [:]
    ) {
        var metadata = metadata
        metadata["server"] = .string(server.name.rawValue)
        metadata["text"] = .string(server.headline)
        metadata["phase"] = .string(server.phase.rawValue)
        metadata["source"] = .string(server.source)
        metadata["selected"] = .string(server.isSelected ? "yes" : "no")
        metadata["revision"] = .string(String(server.revision))
        if let level = server.status?.level { metadata["level"] = .string(level.rawValue) }
        logger.log(id, level: id == .changed ? server.journalLevel : .info, message, metadata: metadata)
    }
}

extension ServerState {
    /// The log level of a change.
    fileprivate var journalLevel: Logger.Level {
        if phase == .failed || isStale { return .warning }
        switch status?.level {
        case .critical: return .error
        case .warning, .unknown: return .warning
        case .ok, nil: return .notice
        }
    }
}
