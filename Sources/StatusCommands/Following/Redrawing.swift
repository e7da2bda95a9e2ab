// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Writes something again whenever it has changed, but not more often than people can read.
///
/// The newest state is always written last.
@EventLoop
final class Redrawing {
    private static let interval = Duration.milliseconds(100)

    private let draw: () -> Void
    private var timer: TimerSource?
    private var last: ContinuousClock.Instant?
    private var isDue = false

    init(_ draw: @escaping () -> Void) throws(IOError) {
        self.draw = draw
        timer = try TimerSource { [weak self] in self?.drawNow() }
    }

    /// Draws now, or when the interval is over.
    func needsDrawing() {
        guard !isDue else { return }
        isDue = true
        let wait = last.map { max(.zero, Self.interval - (.now - $0)) } ?? .zero
        timer?.schedule(after: wait)
    }

    private func drawNow() {
        isDue = false
        last = .now
        draw()
    }
}

/// Calls a function each second.
@EventLoop
final class TickingClock {
    private var timer: TimerSource?

    init(_ tick: @escaping @EventLoop () -> Void) throws(IOError) {
        timer = try TimerSource { [weak self] in
            tick()
            self?.timer?.schedule(after: .seconds(1))
        }
        timer?.schedule(after: .seconds(1))
    }
}
