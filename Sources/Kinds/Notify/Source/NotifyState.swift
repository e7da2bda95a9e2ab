// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// The condition and text that programs have reported with sd_notify(3), from which statuses are made.
struct NotifyState {
    /// The effect of a message.
    enum Reaction: Equatable {
        /// Post a status.
        case post(StatusText, Level)
        /// Keep the last status fresh.
        case touch
        case nothing
    }

    private var condition: NotifyMessage.Condition?
    /// The last text; nil if it was empty.
    private var status: StatusText?

    /// Takes a message.
    mutating func take(_ message: NotifyMessage) -> Reaction {
        if let text = message.status { status = StatusText(fitting: text) }
        if let reported = message.condition { condition = reported }
        guard message.status != nil || message.condition != nil else { return message.isAlive ? .touch : .nothing }
        guard let text = text(for: message) else { return .nothing }
        return .post(text, level)
    }

    /// Returns the text of a status.
    ///
    /// This is the program's own text if it is in the message, or if the program is ready again. Otherwise it is a word
    /// for the condition.
    private func text(for message: NotifyMessage) -> StatusText? {
        if let status, message.status != nil || condition == .ready { return status }
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
