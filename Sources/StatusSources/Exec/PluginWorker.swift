// SPDX-License-Identifier: Apache-2.0

import Glibc
import PluginExecutor
import Systemd
import Varlink

/// The daemon's end of a connection to a worker, which runs one plugin at a time.
@EventLoop
final class PluginWorker {
    private enum State {
        case idle
        case running(@Sendable (PluginOutcome?) -> Void)
        /// Asked to end; what it still says counts for nothing.
        case stopping
        /// Gone, and with it all that its plugins left.
        case ended
    }

    private let connection: OwnedDescriptor
    private var source: IOSource?
    private var input: [UInt8] = []
    private var state = State.idle
    private var onEnd: [@Sendable () -> Void] = []

    init(_ connection: OwnedDescriptor) throws(SystemdError) {
        self.connection = connection
        source = try IOSource(descriptor: connection.rawValue, events: .readable) { [weak self] _ in self?.read() }
    }

    isolated deinit { source?.cancel() }

    /// Whether a plugin can be run.
    var isIdle: Bool { if case .idle = state { true } else { false } }

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
        case .running(let body): answer(body, chunk[..<count])
        case .stopping: return
        // Nobody has asked for anything.
        case .idle, .ended: end()
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
        if case .running(let body) = before { body(nil) }
        for body in onEnd { body() }
        onEnd = []
    }
}
