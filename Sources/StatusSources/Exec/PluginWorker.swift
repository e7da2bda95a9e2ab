// SPDX-License-Identifier: Apache-2.0

import Glibc
import PluginExecutor
import Systemd
import Varlink

/// The daemon's end of a connection to a worker, which runs one plugin at a time.
@EventLoop
final class PluginWorker {
    private enum State {
        /// Not heard of yet; somebody may wait for that.
        case starting((@Sendable (Start) -> Void)?)
        case idle
        case running(@Sendable (PluginOutcome?) -> Void)
        /// Asked to end; what it still says counts for nothing.
        case stopping
        /// Gone, and with it all that its plugins left.
        case ended
    }

    /// What came of its start.
    enum Start: Sendable {
        case ready
        case refused(reason: String)
        case ended
    }

    private let connection: OwnedDescriptor
    private var source: IOSource?
    private var input: [UInt8] = []
    private var state = State.starting(nil)
    private var onEnd: [@Sendable () -> Void] = []

    init(_ connection: OwnedDescriptor) throws(SystemdError) {
        self.connection = connection
        source = try IOSource(descriptor: connection.rawValue, events: .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit { source?.cancel() }

    /// Whether a plugin can be run.
    var isIdle: Bool { if case .idle = state { true } else { false } }

    /// Calls `body` when the worker is ready, or never will be.
    func whenStarted(_ body: @escaping @Sendable (Start) -> Void) {
        switch state {
        case .starting: state = .starting(body)
        case .idle, .running, .stopping: body(.ready)
        case .ended: body(.ended)
        }
    }

    /// Has a plugin run; `body` is called with its outcome, or with nil if the worker does not answer as it should.
    func run(_ call: PluginCall, then body: @escaping @Sendable (PluginOutcome?) -> Void) {
        state = .running(body)
        let bytes = PluginMessage.encode(call)
        // It fits into the socket's buffer: nothing else is in there, and a configuration's commands are shorter.
        if send(connection.rawValue, bytes, bytes.count, Int32(MSG_NOSIGNAL)) != bytes.count { end() }
    }

    /// Has the worker end, and with it the plugin that runs.
    func stop() {
        if case .ended = state { return }
        state = .stopping
        shutdown(connection.rawValue, Int32(SHUT_WR))
    }

    /// Calls `body` when the worker has ended.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        if case .ended = state { body() } else { onEnd.append(body) }
    }

    private func read() {
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        let count = chunk.withUnsafeMutableBytes { connection.receive(into: $0) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return end() }
        switch state {
        case .starting(let body): greet(body, chunk[..<count])
        case .running(let body): answer(body, chunk[..<count])
        case .stopping: return
        // Nobody has asked for anything.
        case .idle, .ended: end()
        }
    }

    private func greet(_ body: ((Start) -> Void)?, _ bytes: ArraySlice<UInt8>) {
        input += bytes
        if input == PluginMessage.greeting {
            input = []
            state = .idle
            body?(.ready)
        } else if let outcome = try? PluginMessage.take(PluginOutcome.self, from: &input),
            case .notStarted(let reason) = outcome.ending
        {
            state = .stopping
            body?(.refused(reason: reason))
        } else if input.contains(0) || input.count > PluginMessage.maximumBytes {
            end()
        }
    }

    private func answer(_ body: (PluginOutcome?) -> Void, _ bytes: ArraySlice<UInt8>) {
        input += bytes
        do {
            guard let outcome = try PluginMessage.take(PluginOutcome.self, from: &input) else {
                if input.count > PluginMessage.maximumBytes { end() }
                return
            }
            state = .idle
            body(outcome)
        } catch {
            end()
        }
    }

    private func end() {
        let before = state
        state = .ended
        source?.cancel()
        source = nil
        switch before {
        case .starting(let body): body?(.ended)
        case .running(let body): body(nil)
        case .idle, .stopping, .ended: break
        }
        for body in onEnd { body() }
        onEnd = []
    }
}
