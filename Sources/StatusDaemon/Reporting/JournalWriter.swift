// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel

/// Writes changes to the journal, or to standard error, one entry each.
///
/// The entries of each server are limited, and so are moves of the selection. The newest change that was left out is
/// written later, with the number of the others, so the newest entry is always current. All servers together stay below
/// journald's default limit for a service, 10,000 entries in 30 s; beyond it, journald would drop any entry.
@EventLoop
final class JournalWriter: ChangeSink {
    /// The number of entries that a server may write at once; in each interval, it may write one more.
    private nonisolated static let burst = 20
    /// The number of entries that all servers together may write at once, and how many more in each interval.
    nonisolated static let burstOfAll = 2000
    private static let entriesPerInterval = 200
    /// The maximum number of subjects with a change that is held; beyond it, the change that was held first is dropped.
    nonisolated static let mostWaiting = 4096
    private static let interval = Duration.seconds(1)
    /// The time for which a change of text at one level counts against the burst of its server.
    private static let textInterval = Duration.seconds(60)

    /// The number of entries that a subject may still write, and the newest change that was held back.
    private struct Account {
        var credit = burst
        /// The newest change since the last entry, which must still be written; nil if there was none.
        var held: RecordedChange?

        var isIdle: Bool { credit == burst && held == nil }

        enum Decision { case write(RecordedChange, afterWaiting: Bool), wait, keepWaiting }

        mutating func earn() { credit = min(burst, credit + 1) }

        /// Decides whether to write a change now; otherwise holds it.
        mutating func decide(_ change: consuming RecordedChange, mayWrite: () -> Bool) -> Decision {
            let isWaiting = held != nil
            // What is no more urgent than the change that waits, waits too.
            var isUrgent = true
            if let held {
                change.omitted += held.omitted + 1
                isUrgent = change.kind != held.kind || change.grade != held.grade
            }
            guard isUrgent, credit > 0, mayWrite() else {
                held = change
                return isWaiting ? .keepWaiting : .wait
            }
            held = nil
            credit -= 1
            return .write(change, afterWaiting: isWaiting)
        }
    }

    /// What the last entry of a server said.
    private struct LastEntry {
        var text: String
        var grade: RecordedChange.Grade?
        /// The end of the time that its changes of text have used up; each uses a minute.
        var textsUsed: ContinuousClock.Instant
    }

    private let logger: Logger
    private var timer: TimerSource?
    private var isTimerRunning = false
    /// The subjects that have written entries lately.
    private var accounts: [RecordedChange.Subject: Account] = [:]
    /// The subjects with a change that is held, the longest waiting first.
    private var waiting: [RecordedChange.Subject] = []
    private var credit = burstOfAll
    /// The number of changes that were dropped and are not reported by a later entry of their subject.
    private var dropped = 0
    private var lastEntries: [ServerName: LastEntry] = [:]
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(
        logger: Logger, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws(IOError) {
        self.logger = logger
        self.clock = clock
        timer = try TimerSource(accuracy: .milliseconds(100)) { [weak self] in self?.earn() }
    }

    /// Writes all changes that are held, and stops.
    func close() {
        timer?.cancel()
        reportDropped()
        for subject in waiting { if let held = accounts[subject]?.held.take() { write(held) } }
    }

    // MARK: The limit

    func record(_ change: RecordedChange) -> ChangeReception {
        startTimer()
        let subject = change.subject
        switch accounts[subject, default: Account()].decide(change, mayWrite: { credit > 0 && mayWrite(change) }) {
        case .write(let change, let afterWaiting):
            if afterWaiting { waiting.removeAll { $0 == subject } }
            credit -= 1
            write(change)
            return .recorded
        case .wait:
            waiting.append(subject)
            if waiting.count > Self.mostWaiting { dropFirst() }
            return .held
        case .keepWaiting: return .held
        }
    }

    /// Whether a change is more than one of text, or its server has not used up its changes of text at one level.
    private func mayWrite(_ change: RecordedChange) -> Bool {
        guard change.kind == .changed, let name = change.snapshot?.state.name, let last = lastEntries[name],
            last.grade == change.grade
        else { return true }
        return last.textsUsed - clock() <= Self.textInterval * (Self.burst - 1)
    }

    private func dropFirst() {
        let subject = waiting.removeFirst()
        guard let held = accounts[subject]?.held.take() else { return }
        dropped += held.omitted + 1
        if accounts[subject]?.isIdle == true { accounts[subject] = nil }
        if held.kind == .removed, let server = held.server { lastEntries[server.name] = nil }
    }

    /// Raises the limits; called by the timer once in each interval.
    func earn() {
        isTimerRunning = false
        for subject in accounts.keys { accounts[subject]?.earn() }
        credit = min(Self.burstOfAll, credit + Self.entriesPerInterval)
        reportDropped()
        writeHeld(credit)
        accounts = accounts.filter { !$0.value.isIdle }
        if !accounts.isEmpty || credit < Self.burstOfAll { startTimer() }
    }

    /// Writes the newest change of the longest waiting subjects.
    private func writeHeld(_ most: Int) {
        var room = most
        waiting.removeAll { subject in
            guard room > 0, let held = accounts[subject]?.held, mayWrite(held) else { return false }
            room -= 1
            accounts[subject]?.held = nil
            accounts[subject]?.credit -= 1
            write(held)
            return true
        }
        credit -= most - room
    }

    private func reportDropped() {
        guard dropped > 0 else { return }
        logger.warning("\(dropped) changes of servers left out: too many at once", metadata: ["omitted": "\(dropped)"])
        dropped = 0
    }

    private func startTimer() {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        timer?.schedule(after: Self.interval)
    }

    // MARK: Entries

    private func write(_ change: RecordedChange) {
        guard let server = change.server else {
            let message: Logger.Message = "no server selected\(Self.note(ofOmitted: change.omitted, "selection"))"
            return logger.log(.selected, level: .info, message, metadata: Self.metadata(of: change))
        }
        switch change.kind {
        case .changed: write(.changed, server, "\(server.name): \(server.markedHeadline)", change)
        case .selected: write(.selected, server, "selected \(server.name): \(server.markedHeadline)", change)
        case .silenced:
            write(.silenced, server, "\(server.name) silenced \(server.silence?.summary ?? "")", change)
        case .unsilenced: write(.unsilenced, server, "\(server.name) no longer silenced", change)
        case .added: write(.added, server, "\(server.name) added", change)
        case .removed:
            write(.removed, server, "\(server.name) removed", change)
            lastEntries[server.name] = nil
        case .started, .stopped: break
        }
    }

    private func write(_ id: MessageID, _ server: ServerState, _ text: String, _ change: RecordedChange) {
        var metadata = Self.metadata(of: change)
        metadata["server"] = .string(server.name.rawValue)
        metadata["text"] = .string(server.headline)
        metadata["phase"] = .string(server.phase.rawValue)
        metadata["source"] = .string(server.source)
        metadata["selected"] = .string(server.isSelected ? "yes" : "no")
        metadata["revision"] = .string(String(change.revision))
        if let level = server.status?.level { metadata["level"] = .string(level.rawValue) }
        let last = lastEntries[server.name]
        let isOfText = last.map { $0.grade == change.grade } ?? false
        if id == .changed {
            let now = clock()
            if let last { metadata["old-text"] = .string(last.text) }
            let used = isOfText ? max(now, last?.textsUsed ?? now) + Self.textInterval : last?.textsUsed ?? now
            lastEntries[server.name] = LastEntry(text: server.headline, grade: change.grade, textsUsed: used)
        }
        let note = Self.note(ofOmitted: change.omitted, id == .selected ? "selection" : "change")
        let level: Logger.Level = id != .changed ? .info : isOfText ? .notice : server.journalLevel
        logger.log(id, level: level, "\(text)\(note)", metadata: metadata)
    }

    private static func note(ofOmitted count: Int, _ what: String) -> String {
        count > 0 ? " (\(count) earlier \(what)\(count == 1 ? "" : "s") left out)" : ""
    }

    private static func metadata(of change: RecordedChange) -> Logger.Metadata {
        var metadata = change.caller.map { Logger.Metadata.of($0) } ?? [:]
        if change.omitted > 0 { metadata["omitted"] = .string(String(change.omitted)) }
        return metadata
    }
}

extension ServerState {
    /// The log level of a change.
    fileprivate var journalLevel: Logger.Level {
        switch countedLevel {
        case .critical: return .error
        case .warning, .unknown: return .warning
        case .ok, nil: return .notice
        }
    }
}
