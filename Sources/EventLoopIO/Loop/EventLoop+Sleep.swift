// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Waits for a time, without blocking the loop.
    ///
    /// `Task.sleep` would start Dispatch's threads, whatever the global executor is (Swift 6.3), and its timer stays
    /// after a cancellation. This function does neither.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled; ``IOError`` if the system has no descriptor or
    ///   memory for a timer.
    @EventLoop public static func sleep(for duration: Duration) async throws {
        _ = try await TimedWait<Void>.run(within: duration, by: .boottime) { _ in }
        try Task.checkCancellation()
    }
}

/// The continuous clock, with sleeps on the event loop (``EventLoop/sleep(for:)``).
public struct EventLoopClock: Clock {
    public typealias Instant = ContinuousClock.Instant

    /// Creates the clock.
    public init() {}

    public var now: Instant { ContinuousClock.now }

    public var minimumResolution: Duration { .milliseconds(1) }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await EventLoop.sleep(for: now.duration(to: deadline))
    }
}
