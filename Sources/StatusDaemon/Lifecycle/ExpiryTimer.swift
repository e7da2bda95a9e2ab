// SPDX-License-Identifier: Apache-2.0

import StatusMonitor
import Systemd

/// Looks for stale statuses when the first of them is due, by the clock that counts suspended time, too.
@EventLoop
final class ExpiryTimer {
    /// When somebody looks later than this, the daemon or the machine was held up.
    private static let usualDelay = Duration.seconds(1)

    private let monitor: StatusMonitor
    private var timer: TimerSource?
    private var due = Duration.zero
    private var wasHeldUp = false

    init(monitor: StatusMonitor) throws(SystemdError) {
        self.monitor = monitor
        timer = try TimerSource(clock: .boottime, accuracy: .milliseconds(50)) { [weak self] in self?.fire() }
        monitor.scheduleExpiry { [weak self] due in EventLoop.perform { self?.schedule(due) } }
    }

    private func schedule(_ due: Duration) {
        self.due = due
        timer?.schedule(after: due - Moment.now().boot)
    }

    /// What arrived while the daemon could not read, or the machine was suspended, is read before anything is called stale for the
    /// want of it.
    private func fire() {
        let delay = Moment.now().boot - due
        wasHeldUp = !wasHeldUp && delay > Self.usualDelay
        if wasHeldUp {
            timer?.schedule(after: Self.usualDelay)
        } else {
            monitor.expire()
        }
    }
}
