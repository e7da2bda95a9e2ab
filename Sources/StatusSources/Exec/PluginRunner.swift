// SPDX-License-Identifier: Apache-2.0

import StatusWorkers
import Systemd

/// A worker that runs one plugin at a time.
@EventLoop
final class PluginRunner {
    private let worker: WorkerConnection
    /// Who waits for the plugin that runs.
    private var waiter: (@Sendable (PluginOutcome?) -> Void)?

    /// Takes over a worker that is ready.
    init(_ worker: WorkerConnection) {
        self.worker = worker
        worker.onMessage = { [weak self] message in
            guard let outcome = try? WorkerMessage.decode(PluginOutcome.self, from: message) else { return false }
            return self?.end(with: outcome) ?? false
        }
        worker.whenEnded { [weak self] in _ = self?.end(with: nil) }
    }

    /// Whether a plugin can be run.
    var isIdle: Bool { worker.isReady && waiter == nil }

    /// Has a plugin run; `body` is called with its outcome, or with nil if the worker does not answer as it should.
    func run(_ call: PluginCall, then body: @escaping @Sendable (PluginOutcome?) -> Void) {
        waiter = body
        if worker.isReady { worker.send(call) } else { _ = end(with: nil) }
    }

    /// Has the worker end, and with it the plugin that runs.
    func stop() {
        waiter = nil
        worker.stop()
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @EventLoop () -> Void) { worker.whenEnded(body) }

    /// Returns whether somebody was waiting.
    private func end(with outcome: PluginOutcome?) -> Bool {
        let waiter = self.waiter
        self.waiter = nil
        waiter?(outcome)
        return waiter != nil
    }
}
