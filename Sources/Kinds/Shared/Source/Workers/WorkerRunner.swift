// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusWorkers
import Varlink

/// A worker that carries out one call at a time.
@EventLoop
final class WorkerRunner<Answer: WorkerAnswer> {
    private let worker: WorkerConnection
    /// Passes the answer to the caller; nil while no call runs.
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

    /// Whether the worker can take a call.
    var isIdle: Bool { worker.isReady && waiter == nil }

    /// Carries out a call.
    ///
    /// - Parameter body: called with the answer; nil if the worker ends or its answer is invalid.
    func run(_ call: some JSONWritable, then body: @escaping @Sendable (Answer?) -> Void) {
        waiter = body
        if worker.isReady { worker.send(call) } else { _ = end(with: nil) }
    }

    /// Ends the worker and its call.
    ///
    /// - Parameter atOnce: whether to kill the worker. Otherwise it first ends the processes that it started.
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
