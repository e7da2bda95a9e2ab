// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusWorkers
import Varlink

/// The daemon's end of a connection to a worker.
@EventLoop
final class WorkerConnection {
    /// The outcome of a worker's start.
    enum Start: Sendable {
        case ready
        case refused(reason: String)
        case ended
    }

    private enum State {
        /// Not ready yet; a caller may be waiting for the start.
        case starting((@Sendable (Start) -> Void)?)
        case ready
        /// Ending; messages are ignored.
        case stopping
        /// Ended, with all processes that the worker had started.
        case ended
    }

    private let started: StartedWorker
    private let transport: Transport
    /// The number of bytes received since the worker was told to end.
    private var ignored = 0
    private var state = State.starting(nil)
    private var onEnd: [@EventLoop () -> Void] = []
    /// Handles a message from a ready worker; returns whether it is valid.
    var onMessage: @EventLoop (UnsafeRawBufferPointer) -> Bool = { _ in false }

    /// Takes over the connection to a worker.
    init(_ started: StartedWorker) throws(IOError) {
        self.started = started
        transport = Transport(started.connection)
        try transport.open { [weak self] events in self?.ready(events) }
        transport.interest = [.input, .hangUp]
    }

    isolated deinit { transport.close() }

    /// Whether the worker takes calls.
    var isReady: Bool { if case .ready = state { true } else { false } }

    /// Whether the worker has ended.
    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Calls `body` when the worker is ready or has failed to start.
    func whenStarted(_ body: @escaping @Sendable (Start) -> Void) {
        switch state {
        case .starting: state = .starting(body)
        case .ready, .stopping: body(.ready)
        case .ended: body(.ended)
        }
    }

    /// Sends a call.
    func send(_ call: some JSONWritable) { transport.write(WorkerMessage.encode(call)) }

    /// Makes the worker end, with all processes that it has started.
    func stop() {
        if hasEnded { return }
        state = .stopping
        shutdown(started.connection.rawValue, Int32(SHUT_WR))
    }

    /// Kills the worker, which must not have started processes.
    func kill() {
        stop()
        started.process?.kill()
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @EventLoop () -> Void) {
        if hasEnded { body() } else { onEnd.append(body) }
    }

    private func ready(_ events: IOSource.Events) {
        guard !events.isEmpty else { return }
        let result = transport.read()
        while let message = transport.input.takeMessage() {
            guard message.count <= WorkerMessage.maximumAnswerBytes, take(message) else { return end() }
        }
        // Stop reading from a worker that keeps sending, so that it costs nothing.
        if ignored > WorkerMessage.maximumAnswerBytes { transport.interest = .hangUp }
        if case .open = result, transport.input.count <= WorkerMessage.maximumAnswerBytes { return }
        end()
    }

    private func take(_ message: UnsafeRawBufferPointer) -> Bool {
        switch state {
        case .starting(let body): return begin(message, body)
        case .ready: return onMessage(message)
        case .stopping, .ended:
            ignored += message.count + 1
            return true
        }
    }

    private func begin(_ message: UnsafeRawBufferPointer, _ body: ((Start) -> Void)?) -> Bool {
        guard let greeting = try? WorkerMessage.decode(WorkerGreeting.self, from: message) else { return false }
        state = greeting.refusal == nil ? .ready : .stopping
        body?(greeting.refusal.map { .refused(reason: $0) } ?? .ready)
        return true
    }

    private func end() {
        let before = state
        state = .ended
        transport.close()
        if case .starting(let body) = before { body?(.ended) }
        for body in onEnd { body() }
        onEnd = []
    }
}
