// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusWorkers
import Varlink

/// The daemon's end of a connection to a worker, which carries out one call at a time.
@EventLoop
final class Worker<Answer: WorkerAnswer> {
    private enum State {
        /// Not ready yet; a caller may be waiting for the start.
        case starting((@Sendable (WorkerBeginning) -> Void)?)
        case idle
        /// A call is being carried out; its caller gets the answer.
        case busy(@Sendable (Answer?) -> Void)
        /// Ending; messages are ignored, and so many bytes of them have arrived.
        case stopping(ignored: Int)
        /// Ended, with all processes that the worker had started.
        case ended
    }

    private let started: StartedWorker
    private let transport: Transport
    private var state = State.starting(nil)
    private var onEnd: [@EventLoop () -> Void] = []

    /// Takes over the connection to a worker.
    init(_ started: StartedWorker) throws(IOError) {
        self.started = started
        transport = Transport(started.connection)
        try transport.open { [weak self] events in self?.ready(events) }
        transport.interest = [.readable, .hangUp]
    }

    isolated deinit { transport.close() }

    /// Whether the worker can take a call.
    var isIdle: Bool { if case .idle = state { true } else { false } }

    private var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Calls `body` when the worker is ready or has failed to start.
    func whenStarted(_ body: @escaping @Sendable (WorkerBeginning) -> Void) {
        switch state {
        case .starting: state = .starting(body)
        case .idle, .busy, .stopping: body(.ready)
        case .ended: body(.ended)
        }
    }

    /// Carries out a call.
    ///
    /// - Parameter body: called with the answer; nil if the worker ends or its answer is invalid.
    func run(_ call: some JSONWritable, then body: @escaping @Sendable (Answer?) -> Void) {
        guard isIdle else { return body(nil) }
        state = .busy(body)
        transport.write(WorkerMessage.encode(call))
    }

    /// Ends the worker and its call.
    ///
    /// - Parameter atOnce: whether to kill the worker. Otherwise it first ends the processes that it started.
    func stop(atOnce: Bool) {
        if hasEnded { return }
        state = .stopping(ignored: 0)
        shutdown(started.connection.rawValue, Int32(SHUT_WR))
        if atOnce { started.process?.kill() }
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
        if case .open = result, transport.input.count <= WorkerMessage.maximumAnswerBytes { return }
        end()
    }

    /// Takes a message; returns whether it is valid.
    private func take(_ message: UnsafeRawBufferPointer) -> Bool {
        switch state {
        case .starting(let body):
            guard let greeting = try? WorkerMessage.decode(WorkerGreeting.self, from: message) else { return false }
            state = greeting.refusal == nil ? .idle : .stopping(ignored: 0)
            body?(greeting.refusal.map { .refused(reason: $0) } ?? .ready)
        case .idle, .ended: return false
        case .busy(let body):
            guard let answer = try? WorkerMessage.decode(Answer.self, from: message) else { return false }
            state = .idle
            body(answer)
        case .stopping(let ignored):
            state = .stopping(ignored: ignored + message.count + 1)
            // Stop reading from a worker that keeps sending, so that it costs nothing.
            if ignored > WorkerMessage.maximumAnswerBytes { transport.interest = .hangUp }
        }
        return true
    }

    private func end() {
        let before = state
        state = .ended
        transport.close()
        switch before {
        case .starting(let body): body?(.ended)
        case .busy(let body): body(nil)
        case .idle, .stopping, .ended: break
        }
        let finish = { @EventLoop [onEnd] in for body in onEnd { body() } }
        onEnd = []
        // A process closes its connection before it has ended.
        if let process = started.process { process.whenEnded(finish) } else { finish() }
    }
}

/// The outcome of a worker's start.
enum WorkerBeginning: Sendable {
    case ready
    case refused(reason: String)
    case ended
}
