// SPDX-License-Identifier: Apache-2.0

/// Waits for a result that may come from any thread, up to a limit.
@EventLoop
package final class TimedWait<Result: Sendable> {
    private var ended: Result??
    private var waiter: CheckedContinuation<Result?, Never>?
    private var timer: TimerSource?

    /// Calls `begin` with a closure that ends the wait, and returns the result; nil on a timeout or if the task is
    /// cancelled.
    ///
    /// A later result is dropped. If the system has no descriptor or memory for a timer, this calls `begin` and returns
    /// nil at once.
    package static func run(
        within limit: Duration, _ begin: (_ end: @escaping @Sendable (Result) -> Void) -> Void
    ) async -> Result? {
        let wait = TimedWait()
        let timer = try? TimerSource { [weak wait] in wait?.end(with: nil) }
        wait.timer = timer
        begin { result in EventLoop.perform { wait.end(with: result) } }
        return timer == nil ? nil : await wait.result(within: limit)
    }

    /// Does the same, but throws the error of `begin`, or an error if no timer can be created.
    static func run(
        within limit: Duration, by clock: TimerSource.Clock, accuracy: Duration = TimerSource.usualAccuracy,
        _ begin: (_ end: @escaping @Sendable (Result) -> Void) throws(IOError) -> Void
    ) async throws(IOError) -> Result? {
        let wait = TimedWait()
        wait.timer = try TimerSource(clock: clock, accuracy: accuracy) { [weak wait] in wait?.end(with: nil) }
        try begin { result in EventLoop.perform { wait.end(with: result) } }
        return await wait.result(within: limit)
    }

    private func result(within limit: Duration) async -> Result? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let ended { return continuation.resume(returning: ended) }
                waiter = continuation
                timer?.schedule(after: limit)
            }
        } onCancel: {
            EventLoop.perform { self.end(with: nil) }
        }
    }

    private func end(with result: Result?) {
        guard ended == nil else { return }
        ended = .some(result)
        timer?.cancel()
        timer = nil
        waiter?.resume(returning: result)
        waiter = nil
    }
}
