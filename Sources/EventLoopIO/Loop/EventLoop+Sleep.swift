// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Waits for a time, without blocking the loop.
    ///
    /// `Task.sleep` would start Dispatch's threads, whatever the global executor is (Swift 6.3), and its timer stays until its time
    /// comes. A sleep of the loop does neither: a cancelled one leaves nothing behind.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled, `IOError` if there can be no timer.
    @EventLoop public static func sleep(for duration: Duration) async throws {
        let sleep = try Sleep()
        await sleep.wait(for: duration)
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

/// One task's wait for a timer.
@EventLoop
private final class Sleep {
    private var timer: TimerSource?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var isOver = false

    init() throws(IOError) {
        timer = try TimerSource(clock: .boottime) { [weak self] in self?.end() }
    }

    func wait(for duration: Duration) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isOver { return continuation.resume() }
                sleeper = continuation
                timer?.schedule(after: duration)
            }
        } onCancel: {
            EventLoop.perform { self.end() }
        }
    }

    private func end() {
        isOver = true
        timer?.cancel()
        timer = nil
        sleeper?.resume()
        sleeper = nil
    }
}
