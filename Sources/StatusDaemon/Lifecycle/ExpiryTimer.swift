// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusMonitor

/// Marks statuses as stale when they are due, by the clock that includes suspended time.
@EventLoop
final class ExpiryTimer {
    /// A longer delay means that the daemon or the machine was held up.
    private static let usualDelay = Duration.seconds(1)
    /// The time to read what arrived during such a delay; only then are statuses marked as stale.
    private static let readingTime = Duration.milliseconds(200)

    private let monitor: StatusMonitor
    private var timer: TimerSource?
    /// The time of the next check, if any.
    private var due: Duration?
    private var wasHeldUp = false

    init(monitor: StatusMonitor) throws(IOError) {
        self.monitor = monitor
        timer = try TimerSource(clock: .boottime, accuracy: .milliseconds(50)) { [weak self] in self?.fire() }
        monitor.scheduleExpiry { [weak self] due in EventLoop.perform { self?.schedule(due) } }
    }

    /// Schedules a check; the earliest time counts, because callers may overtake one another.
    func schedule(_ due: Duration) {
        if let earlier = self.due, earlier <= due { return }
        self.due = due
        timer?.schedule(after: due - Moment.now().boot)
    }

    /// Marks stale statuses, but after a long delay only once everything that arrived meanwhile has been read.
    private func fire() {
        let delay = Moment.now().boot - (due ?? .zero)
        wasHeldUp = !wasHeldUp && delay > Self.usualDelay
        if wasHeldUp {
            timer?.schedule(after: Self.readingTime)
        } else {
            due = nil
            monitor.expire()
        }
    }
}
