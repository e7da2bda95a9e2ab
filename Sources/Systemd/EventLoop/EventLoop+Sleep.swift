// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Waits for a time, without blocking the loop.
    ///
    /// Unlike `Task.sleep`, whose timer stays until its time comes, a cancelled sleep leaves nothing behind.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled, `SystemdError` if there can be no timer.
    @EventLoop public static func sleep(for duration: Duration) async throws {
        let sleep = try Sleep()
        await sleep.wait(for: duration)
        try Task.checkCancellation()
    }
}

/// One task's wait for a timer.
@EventLoop
private final class Sleep {
    private var timer: TimerSource?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var isOver = false

    init() throws(SystemdError) {
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
