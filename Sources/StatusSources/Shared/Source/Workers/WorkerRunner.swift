// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusWorkers
import Varlink

/// A worker that carries out one call at a time.
@EventLoop
final class WorkerRunner<Answer: WorkerAnswer> {
    private let worker: WorkerConnection
    /// Who waits for the answer.
    private var waiter: (@Sendable (Answer?) -> Void)?

    /// Takes over a worker that is ready.
    init(_ worker: WorkerConnection) {
        self.worker = worker
        worker.onMessage = { [weak self] message in
            guard let answer = try? WorkerMessage.decode(Answer.self, from: message) else { return false }
            return self?.end(with: answer) ?? false
        }
        worker.whenEnded { [weak self] in _ = self?.end(with: nil) }
    }

    /// Whether it takes a call.
    var isIdle: Bool { worker.isReady && waiter == nil }

    /// Carries out a call; `body` is called with the answer, or with nil if the worker does not answer as it should.
    func run(_ call: some JSONWritable, then body: @escaping @Sendable (Answer?) -> Void) {
        waiter = body
        if worker.isReady { worker.send(call) } else { _ = end(with: nil) }
    }

    /// Has the worker end, and with it what it does: at once, or when it has cleaned up.
    func stop(atOnce: Bool) {
        waiter = nil
        if atOnce { worker.kill() } else { worker.stop() }
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @EventLoop () -> Void) { worker.whenEnded(body) }

    /// Returns whether somebody was waiting.
    private func end(with answer: Answer?) -> Bool {
        let waiter = self.waiter
        self.waiter = nil
        waiter?(answer)
        return waiter != nil
    }
}
