// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusModel
import StatusMonitor
import Systemd

/// Writes every event to the journal (or to standard error), one entry each: the journal is the history.
///
/// A server that changes all the time is limited: after ``burst`` entries it gets one an interval, which says how many were left out.
/// What is left out last is written when the interval is over, so that the newest entry is always what holds.
@EventLoop
final class JournalReporter {
    /// How many entries a server may have at once.
    private nonisolated static let burst = 20
    /// How long it takes until it may have one more.
    private static let interval = Duration.seconds(1)

    /// What a server may still write, and what was left out.
    private struct Account {
        var credit = burst
        var lastText: String?
        var omitted = 0
        var newest: ServerState?

        /// Whether a change may be written now; else it is left out.
        mutating func spend(on server: ServerState) -> Bool {
            if credit > 0 {
                credit -= 1
                return true
            }
            omitted += 1
            newest = server
            return false
        }
    }

    private let logger: Logger
    private var watch: Watch?
    private var timer: TimerSource?
    private var isTimerRunning = false
    private var isReadScheduled = false
    private var accounts: [ServerName: Account] = [:]

    init(monitor: StatusMonitor, logger: Logger) throws {
        self.logger = logger
        timer = try TimerSource(accuracy: .milliseconds(100)) { [weak self] in self?.earn() }
        watch = try monitor.watch(.all) { [weak self] in EventLoop.perform { self?.wake() } }
        read()
    }

    /// Writes what is to be written, and no more.
    func close() {
        read()
        for name in accounts.keys { writeOmitted(name) }
        watch = nil
        timer?.cancel()
    }

    private func wake() {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        EventLoop.atEndOfTurn { [weak self] in
            self?.isReadScheduled = false
            self?.read()
        }
    }

    private func read() {
        while let event = watch?.next() { write(event) }
    }

    private func write(_ event: Event) {
        switch event.kind {
        case .changed: if let server = event.server { writeChange(server) }
        case .selected: writeSelection(event)
        case .added: if let server = event.server { write(.added, server, "\(server.name) added") }
        case .removed:
            guard let server = event.server else { return }
            write(.removed, server, "\(server.name) removed")
            accounts[server.name] = nil
        case .gap: logger.notice("events left out", metadata: ["missed": "\(event.missed ?? 0)"])
        case .snapshot:
            for server in event.servers ?? [] { accounts[server.name, default: Account()].lastText = server.headline }
        case .updated, .refreshing, .refreshed, .alive: break
        }
    }

    // MARK: Changes

    private func writeChange(_ server: ServerState) {
        if accounts[server.name, default: Account()].spend(on: server) {
            write(change: server)
            startTimer()
        }
    }

    private func write(change server: ServerState) {
        let account = accounts[server.name] ?? Account()
        // The newest that was left out is the one that is being written.
        let omitted = account.newest == nil ? account.omitted : account.omitted - 1
        accounts[server.name]?.omitted = 0
        accounts[server.name]?.newest = nil
        accounts[server.name]?.lastText = server.headline
        var metadata: Logger.Metadata = [:]
        if let old = account.lastText { metadata["old-text"] = .string(old) }
        if omitted > 0 { metadata["omitted"] = .string(String(omitted)) }
        let note = omitted > 0 ? " (\(omitted) changes before it left out)" : ""
        write(.changed, server, "\(server.name): \(server.headline)\(note)", metadata: metadata)
    }

    private func writeOmitted(_ name: ServerName) {
        if let newest = accounts[name]?.newest { write(change: newest) }
    }

    /// One more entry for each server that has not its full credit.
    private func earn() {
        isTimerRunning = false
        for name in accounts.keys where accounts[name]?.credit ?? Self.burst < Self.burst {
            if accounts[name]?.newest != nil {
                writeOmitted(name)
            } else {
                accounts[name]?.credit += 1
            }
            startTimer()
        }
    }

    private func startTimer() {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        timer?.schedule(after: Self.interval)
    }

    // MARK: Entries

    private func writeSelection(_ event: Event) {
        guard let server = event.server else {
            return logger.log(.selected, level: .notice, "No server selected")
        }
        write(.selected, server, "Selected \(server.name): \(server.headline)")
    }

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
    /// How loud a change is in the journal.
    fileprivate var journalLevel: Logger.Level {
        if phase == .failed { return .warning }
        switch status?.level {
        case .critical: return .error
        case .warning, .unknown: return .warning
        case .ok, nil: return .notice
        }
    }
}
