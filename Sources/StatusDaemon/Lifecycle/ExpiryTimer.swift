// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusMonitor

/// Marks stale statuses when they are due, by the clock that includes suspended time.
@EventLoop
final class ExpiryTimer {
    /// A longer delay means that the daemon or the machine was held up.
    private static let usualDelay = Duration.seconds(1)
    /// After such a delay, the time to read what has arrived meanwhile; stale statuses are shown as before that long.
    private static let readingTime = Duration.milliseconds(200)

    private let monitor: StatusMonitor
    private var timer: TimerSource?
    /// The time of the next look, if any.
    private var due: Duration?
    private var wasHeldUp = false

    init(monitor: StatusMonitor) throws(IOError) {
        self.monitor = monitor
        timer = try TimerSource(clock: .boottime, accuracy: .milliseconds(50)) { [weak self] in self?.fire() }
        monitor.scheduleExpiry { [weak self] due in EventLoop.perform { self?.schedule(due) } }
    }

    /// Callers may overtake one another, so the earliest time counts.
    func schedule(_ due: Duration) {
        if let earlier = self.due, earlier <= due { return }
        self.due = due
        timer?.schedule(after: due - Moment.now().boot)
    }

    /// What arrived while the daemon or the machine was held up is read before statuses are marked as stale.
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
