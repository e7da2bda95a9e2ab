// SPDX-License-Identifier: Apache-2.0

/// Waits for a result that may come from any thread, or for the time to be up.
@EventLoop
public final class TimedWait<Result: Sendable> {
    private var ended: Result??
    private var waiter: CheckedContinuation<Result?, Never>?
    private var timer: TimerSource?

    /// Calls `begin` with a closure that ends the wait, and returns the result; nil if it takes longer than `limit`, or the task is cancelled.
    ///
    /// A result that comes later is dropped.
    public static func run(
        within limit: Duration, _ begin: (_ end: @escaping @Sendable (Result) -> Void) -> Void
    ) async -> Result? {
        let wait = TimedWait()
        begin { result in EventLoop.perform { wait.end(with: result) } }
        return await wait.result(within: limit)
    }

    private func result(within limit: Duration) async -> Result? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let ended { return continuation.resume(returning: ended) }
                waiter = continuation
                timer = try? TimerSource { [weak self] in self?.end(with: nil) }
                // Without a timer there would be no limit.
                if let timer { timer.schedule(after: limit) } else { end(with: nil) }
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
