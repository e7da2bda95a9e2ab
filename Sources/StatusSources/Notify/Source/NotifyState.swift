// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// The condition and text that programs reported with sd_notify(3); turns messages into statuses.
struct NotifyState {
    /// The effect of a message.
    enum Reaction: Equatable {
        /// A status.
        case post(StatusText, Level)
        /// The last status is still valid.
        case touch
        case nothing
    }

    private var conditions = LastWords<NotifyMessage.Condition>()
    /// The texts that programs reported; nil for an empty one.
    private var statuses = LastWords<StatusText?>()

    /// Takes a message from a user's program.
    mutating func take(_ message: NotifyMessage, from sender: UInt32) -> Reaction {
        if let text = message.status { statuses.note(StatusText(fitting: text), from: sender) }
        if let condition = message.condition { conditions.note(condition, from: sender) }
        guard message.status != nil || message.condition != nil else { return message.isAlive ? .touch : .nothing }
        guard let text = text(for: message) else { return .nothing }
        return .post(text, level)
    }

    /// Forgets what these users' programs reported.
    mutating func forget(_ users: Set<UInt32>) {
        conditions.forget(users)
        statuses.forget(users)
    }

    private var condition: NotifyMessage.Condition? { conditions.newest }

    /// The program's own text if it came with the message, or if the program is ready again; otherwise the word for its
    /// condition.
    private func text(for message: NotifyMessage) -> StatusText? {
        if let status = statuses.newest.flatMap({ $0 }), message.status != nil || condition == .ready { return status }
        return StatusText(fitting: word)
    }

    private var word: String {
        switch condition {
        case .ready: "ready"
        case .reloading: "reloading"
        case .stopping: "stopping"
        case .failed(let number): String(cString: strerror(number))
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
