// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor
import SystemdClient

/// Shows the selected server's status in `systemctl status`: `STATUS=NAME: TEXT`, with a note if the configuration has
/// errors.
///
/// A switch is sent at once. Other statuses are limited to ten in a second; the newest is always sent last.
@EventLoop
final class ServiceManagerReporter {
    private static let interval = Duration.milliseconds(100)

    /// The result of the last reading of the configuration.
    enum Configuration: Equatable {
        /// It is in effect, apart from entries with errors.
        case taken(errors: Int)
        /// It was refused, so the one before is still in effect.
        case refused
    }

    var configuration = Configuration.taken(errors: 0) {
        didSet { if configuration != oldValue { send(line) } }
    }

    private let verification: String
    private let notify: (String) -> Void
    /// The line for the selected server.
    private var line = ServiceManagerReporter.line(for: nil)
    private var timer: TimerSource?
    /// The line that was sent last.
    private var shown: String?
    /// The line to send when the timer has fired.
    private var pending: String?
    private var isTimerRunning = false
    private var isMuted = false

    /// Creates a reporter.
    ///
    /// - Parameters:
    ///   - verification: the command that explains errors in the configuration.
    ///   - notify: sends a line to the service manager.
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

    /// Shows a last line, and ignores all later ones.
    func mute(after line: String) {
        isMuted = true
        configuration = .taken(errors: 0)
        isMuted = false
        send(line)
        isMuted = true
    }

    private func send(_ text: String) {
        let line = notice.map { "\(text) (\($0))" } ?? text
        pending = nil
        guard !isMuted, line != shown else { return }
        shown = line
        notify(line)
        isTimerRunning = true
        timer?.schedule(after: Self.interval)
    }

    /// What an administrator should know of the configuration, as a phrase.
    var notice: String? {
        switch configuration {
        case .taken(errors: 0): nil
        case .taken(let errors): "\(errors) error\(errors == 1 ? "" : "s") in the configuration; run “\(verification)”"
        case .refused: "the configuration was not reloaded; run “\(verification)”"
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
