// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Accepts the connections of one listening socket.
@EventLoop
final class Acceptor {
    private let listener: OwnedDescriptor
    private let failures: LogLimiter
    private let onConnection: @EventLoop (OwnedDescriptor) -> Void
    private var source: IOSource?
    private var timer: TimerSource?

    /// How many connections are accepted before the loop serves others.
    ///
    /// The loop serves 64 descriptors in a round, one of which is the listener. A flood of new clients therefore does
    /// not starve connected ones, and the service notices departed clients before they exhaust a limit.
    private static let connectionsPerWake = 16
    /// How long to wait when descriptors have run out; otherwise the loop would spin.
    private static let pause = Duration.milliseconds(100)

    init(
        _ listener: OwnedDescriptor, failures: LogLimiter, onConnection: @escaping @EventLoop (OwnedDescriptor) -> Void
    ) throws(IOError) {
        self.listener = listener
        self.failures = failures
        self.onConnection = onConnection
        source = try IOSource(listener, events: .readable) { [weak self] _ in self?.accept() }
        timer = try TimerSource { [weak self] in self?.source?.events = .readable }
    }

    func cancel() {
        source?.cancel()
        timer?.cancel()
        source = nil
        timer = nil
    }

    private func accept() {
        for _ in 0..<Self.connectionsPerWake {
            do throws(IOError) {
                guard let descriptor = try UnixSocket.accept(listener.rawValue) else { return }
                onConnection(descriptor)
            } catch {
                failures.log("cannot accept connections for now: \(error)", about: error.message)
                source?.events = []
                timer?.schedule(after: Self.pause)
                return
            }
        }
    }
}
