// SPDX-License-Identifier: Apache-2.0

import StatusWorkers
import Systemd

/// A worker that makes HTTP requests, any number side by side.
@EventLoop
final class HTTPRunner {
    /// What a worker may take longer than a request before it is said not to answer.
    private static let grace = Duration.seconds(1)

    private let worker: WorkerConnection
    private var waiters: [Int: @Sendable (HTTPOutcome?) -> Void] = [:]
    private var isLast = false
    /// How many requests it has been given.
    private(set) var count = 0

    /// Takes over a worker that is ready.
    init(_ worker: WorkerConnection) {
        self.worker = worker
        worker.onMessage = { [weak self] message in
            guard let answer = try? WorkerMessage.decode(HTTPAnswer.self, from: message) else { return false }
            // Nobody may wait for it any more.
            self?.waiters[answer.number]?(answer.outcome)
            return true
        }
        worker.whenEnded { [weak self] in self?.forgetAll() }
    }

    /// Whether it takes requests.
    var isReady: Bool { worker.isReady && !isLast }

    /// Whether the worker has ended.
    var hasEnded: Bool { worker.hasEnded }

    /// Makes a request; returns nil if the worker has ended, or does not answer in time and has been told to end.
    ///
    /// - Throws: `CancellationError`.
    func perform(_ request: HTTPRequest) async throws -> HTTPOutcome? {
        count += 1
        let number = count
        let outcome: HTTPOutcome?? = await TimedWait.run(within: request.timeout + Self.grace) { end in
            waiters[number] = end
            if worker.isReady { worker.send(HTTPCall(number: number, request: request)) } else { end(nil) }
        }
        waiters[number] = nil
        defer { if isLast, waiters.isEmpty { worker.stop() } }
        if let outcome { return outcome }
        if Task.isCancelled { worker.send(HTTPCall(number: number)) }
        try Task.checkCancellation()
        stop()
        return nil
    }

    /// Has the worker end when it has made the requests that it has.
    func finish() {
        isLast = true
        if waiters.isEmpty { worker.stop() }
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @EventLoop () -> Void) { worker.whenEnded(body) }

    private func stop() {
        worker.stop()
        forgetAll()
    }

    private func forgetAll() {
        for end in waiters.values { end(nil) }
    }
}
