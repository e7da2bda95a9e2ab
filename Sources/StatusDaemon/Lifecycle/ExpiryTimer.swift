// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusMonitor

/// Looks for stale statuses when the first of them is due, by the clock that counts suspended time, too.
@EventLoop
final class ExpiryTimer {
    /// When somebody looks later than this, the daemon or the machine was held up.
    private static let usualDelay = Duration.seconds(1)
    /// How long it then takes to read what has arrived meanwhile; so long what is stale is still shown as it was.
    private static let readingTime = Duration.milliseconds(200)

    private let monitor: StatusMonitor
    private var timer: TimerSource?
    /// When to look; nil if that is not known.
    private var due: Duration?
    private var wasHeldUp = false

    init(monitor: StatusMonitor) throws(IOError) {
        self.monitor = monitor
        timer = try TimerSource(clock: .boottime, accuracy: .milliseconds(50)) { [weak self] in self?.fire() }
        monitor.scheduleExpiry { [weak self] due in EventLoop.perform { self?.schedule(due) } }
    }

    /// Those who say when to look may overtake one another, so the earliest time counts.
    func schedule(_ due: Duration) {
        if let earlier = self.due, earlier <= due { return }
        self.due = due
        timer?.schedule(after: due - Moment.now().boot)
    }

    /// What arrived while the daemon could not read, or the machine was suspended, is read before anything is called stale for the
    /// want of it.
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
