// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Waits for a time, without blocking the loop.
    ///
    /// `Task.sleep` would start Dispatch's threads, whatever the global executor is (Swift 6.3), and its timer stays until its time
    /// comes. A sleep of the loop does neither: a cancelled one leaves nothing behind.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled, `IOError` if there can be no timer.
    @EventLoop public static func sleep(for duration: Duration) async throws {
        _ = try await TimedWait<Void>.run(within: duration, by: .boottime) { _ in }
        try Task.checkCancellation()
    }
}

/// The continuous clock, whose sleeps are the loop's (``EventLoop/sleep(for:)``).
public struct EventLoopClock: Clock {
    public typealias Instant = ContinuousClock.Instant

    /// The clock.
    public init() {}

    public var now: Instant { ContinuousClock.now }

    public var minimumResolution: Duration { .milliseconds(1) }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await EventLoop.sleep(for: now.duration(to: deadline))
    }
}
