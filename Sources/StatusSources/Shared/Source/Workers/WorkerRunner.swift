// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusWorkers
import Varlink

/// A worker that carries out one call at a time.
@EventLoop
final class WorkerRunner<Answer: WorkerAnswer> {
    private let worker: WorkerConnection
    /// The caller that waits for the answer.
    private var waiter: (@Sendable (Answer?) -> Void)?

    /// Takes over a ready worker.
    init(_ worker: WorkerConnection) {
        self.worker = worker
        worker.onMessage = { [weak self] message in
            guard let answer = try? WorkerMessage.decode(Answer.self, from: message) else { return false }
            return self?.end(with: answer) ?? false
        }
        worker.whenEnded { [weak self] in _ = self?.end(with: nil) }
    }

    /// Whether it can take a call.
    var isIdle: Bool { worker.isReady && waiter == nil }

    /// Carries out a call; `body` gets the answer, or nil if the worker does not give a valid one.
    func run(_ call: some JSONWritable, then body: @escaping @Sendable (Answer?) -> Void) {
        waiter = body
        if worker.isReady { worker.send(call) } else { _ = end(with: nil) }
    }

    /// Makes the worker end, and with it what it does: at once, or after it has cleaned up.
    func stop(atOnce: Bool) {
        waiter = nil
        if atOnce { worker.kill() } else { worker.stop() }
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @EventLoop () -> Void) { worker.whenEnded(body) }

    /// Passes the answer on; returns whether a caller was waiting.
    private func end(with answer: Answer?) -> Bool {
        let waiter = self.waiter
        self.waiter = nil
        waiter?(answer)
        return waiter != nil
    }
}
