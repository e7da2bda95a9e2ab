// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor
import SystemdClient

/// Shows the selected server's status in `systemctl status`: `STATUS=NAME: TEXT`, and whether the configuration is wrong.
///
/// A switch is shown at once; else at most ten are sent in a second, and the newest always last.
@EventLoop
final class ServiceManagerReporter {
    private static let interval = Duration.milliseconds(100)

    /// What came of reading the configuration last.
    enum Configuration: Equatable {
        /// It holds; what has these errors may be missing.
        case taken(errors: Int)
        /// It is so wrong that the one before still holds.
        case refused
    }

    var configuration = Configuration.taken(errors: 0) {
        didSet { if configuration != oldValue { send(line) } }
    }

    private let verification: String
    private let notify: (String) -> Void
    /// What there is to say of the selected server.
    private var line = ServiceManagerReporter.line(for: nil)
    private var timer: TimerSource?
    /// What the manager was told last.
    private var shown: String?
    /// What it is to be told when the timer has run out.
    private var pending: String?
    private var isTimerRunning = false
    private var isMuted = false

    /// A reporter that tells the manager by `notify`, and of errors with the command that says more about them.
    init(
        verification: String = "statusctl verify",
        notify: @escaping (String) -> Void = { ServiceManager.notify(.status($0)) }
    ) throws(IOError) {
        self.verification = verification
        self.notify = notify
        timer = try TimerSource { [weak self] in self?.timerFired() }
    }

    /// The line for a report.
    nonisolated static func line(for server: ServerState?) -> String {
        guard let server else { return "no server selected" }
        return "\(server.name): \(server.markedHeadline)"
    }

    func show(_ report: Report) {
        line = Self.line(for: report.server)
        if report.isSwitch || !isTimerRunning {
            send(line)
        } else {
            pending = line
        }
    }

    /// Shows a last line; no report comes after it.
    func mute(after line: String) {
        isMuted = true
        configuration = .taken(errors: 0)
        isMuted = false
        send(line)
        isMuted = true
    }

    private func send(_ text: String) {
        let line = complaint.map { "\(text) (\($0); run “\(verification)”)" } ?? text
        pending = nil
        guard !isMuted, line != shown else { return }
        shown = line
        notify(line)
        isTimerRunning = true
        timer?.schedule(after: Self.interval)
    }

    /// What is wrong with the configuration.
    private var complaint: String? {
        switch configuration {
        case .taken(errors: 0): nil
        case .taken(let errors): "\(errors) error\(errors == 1 ? "" : "s") in the configuration"
        case .refused: "the configuration was not reloaded"
        }
    }

    private func timerFired() {
        isTimerRunning = false
        if let pending { send(pending) }
    }
}

extension ServiceManagerReporter: Reporter {
    nonisolated func report(_ report: Report) { EventLoop.perform { self.show(report) } }
}
