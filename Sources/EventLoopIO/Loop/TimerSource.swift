// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// Calls a handler on the loop at a scheduled time, once for each time it is scheduled, until it is cancelled or
/// released.
@EventLoop
package final class TimerSource {
    /// The clock that a timer uses.
    package enum Clock: Sendable {
        /// Stops while the machine is suspended.
        case monotonic
        /// Continues while the machine is suspended.
        case boottime
        /// The wall clock, which may jump.
        case realtime

        var identifier: clockid_t {
            switch self {
            case .monotonic: CLOCK_MONOTONIC
            case .boottime: CLOCK_BOOTTIME
            case .realtime: CLOCK_REALTIME
            }
        }
    }

    package nonisolated static let usualAccuracy = Duration.milliseconds(1)
    private static let longestDelay = Duration.seconds(100 * 366 * 86_400)

    private let clock: Clock
    private var source: OpaquePointer?
    private var handler: (@EventLoop () -> Void)?

    /// Creates a timer that is not scheduled.
    ///
    /// - Parameters:
    ///   - clock: the clock it uses.
    ///   - accuracy: how late it may be, so that the machine wakes up less often.
    ///   - handler: called at the scheduled time.
    package init(
        clock: Clock = .monotonic, accuracy: Duration = usualAccuracy, handler: @escaping @EventLoop () -> Void
    ) throws(IOError) {
        self.clock = clock
        self.handler = handler
        let result = sd_event_add_time(
            EventLoop.executor.event, &source, clock.identifier, UInt64.max, max(1, accuracy.microseconds),
            timerCallback, Unmanaged.passUnretained(self).toOpaque())
        guard result >= 0 else { throw IOError(errno: -result, "cannot create a timer") }
        sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
    }

    isolated deinit { cancel() }

    /// Calls the handler once, `delay` from now; at most a hundred years.
    ///
    /// Scheduling again replaces the time.
    package func schedule(after delay: Duration) {
        guard let source else { return }
        EventLoop.executor.sourceChanged()
        // Absolute, because sd-event would count from its own last turn, which may be long ago. If sd-event rejected
        // the time, the previous one would stay, so the delay is bounded.
        let time = Duration.nanoseconds(Int64(nanoseconds(of: clock.identifier))) + min(delay, Self.longestDelay)
        sd_event_source_set_time(source, time.microseconds)
        sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    }

    /// The time for which the timer was last scheduled.
    var due: Duration {
        var time: UInt64 = 0
        if let source { sd_event_source_get_time(source, &time) }
        return .microseconds(Int64(clamping: time))
    }

    /// Unschedules the timer, which can be scheduled again.
    package func stop() {
        if let source { sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF)) }
    }

    /// Ends the timer permanently and releases the handler.
    package func cancel() {
        source = sd_event_source_disable_unref(source)
        handler = nil
    }

    func fire() {
        let handler = handler
        handler?()
    }
}

extension Duration {
    /// Whole microseconds; 0 for a negative duration.
    var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        return UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }

    /// A limit in messages: `12 s`, or `200 ms` if it is not in whole seconds.
    package var text: String {
        components.attoseconds == 0 ? "\(components.seconds) s" : "\((microseconds + 999) / 1000) ms"
    }
}
