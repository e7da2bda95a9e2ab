// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// The condition and text that programs have reported with sd_notify(3), from which statuses are made.
struct NotifyState {
    enum Reaction: Equatable {
        case post(StatusText, Level)
        case touch
        case nothing
    }

    private var conditions = LastReports<NotifyMessage.Condition>()
    /// The texts that programs reported; nil for an empty one.
    private var statuses = LastReports<StatusText?>()

    mutating func take(_ message: NotifyMessage, from sender: UInt32) -> Reaction {
        if let text = message.status { statuses.note(StatusText(fitting: text), from: sender) }
        // After a failure, only a program that is ready is better, whoever stops or reloads it.
        let isNoBetter = level == .critical && (message.condition == .stopping || message.condition == .reloading)
        let condition = isNoBetter ? nil : message.condition
        if let condition { conditions.note(condition, from: sender) }
        guard message.status != nil || condition != nil else {
            return message.isAlive || isNoBetter ? .touch : .nothing
        }
        guard let text = text(for: message) else { return .nothing }
        return .post(text, level)
    }

    mutating func forget(_ users: Set<UInt32>) {
        conditions.forget(users)
        statuses.forget(users)
    }

    private var condition: NotifyMessage.Condition? { conditions.newest }

    /// Returns the text of a status.
    ///
    /// This is the program's own text if it is in the message, or if the program is ready again. Otherwise it is a word
    /// for the condition.
    private func text(for message: NotifyMessage) -> StatusText? {
        if let status = statuses.newest.flatMap({ $0 }), message.status != nil || condition == .ready { return status }
        return StatusText(fitting: word)
    }

    private var word: String {
        switch condition {
        case .ready: "ready"
        case .reloading: "reloading"
        case .stopping: "stopping"
        case .failed(let reason): reason.rawValue
        case .unwell: "watchdog triggered"
        case nil: "running"
        }
    }

    private var level: Level {
        switch condition {
        case .failed, .unwell: .critical
        case .stopping: .warning
        case .ready, .reloading, nil: .ok
        }
    }
}

/// The last report of each user's programs about one subject.
///
/// When a user's report is forgotten, the previous report of another user counts again.
struct LastReports<Report> {
    /// The maximum number of reports; the oldest ones are dropped.
    private static var limit: Int { 8 }

    private var reports: [(report: Report, sender: UInt32)] = []

    /// The newest report that still counts.
    var newest: Report? { reports.last?.report }

    var newestSender: UInt32? { reports.last?.sender }

    mutating func note(_ report: Report, from sender: UInt32) {
        reports.removeAll { $0.sender == sender }
        reports.append((report, sender))
        if reports.count > Self.limit { reports.removeFirst() }
    }

    /// Forgets the reports of these users; returns whether the newest report has changed.
    @discardableResult
    mutating func forget(_ users: Set<UInt32>) -> Bool {
        let hasChanged = reports.last.map { users.contains($0.sender) } ?? false
        reports.removeAll { users.contains($0.sender) }
        return hasChanged
    }
}
