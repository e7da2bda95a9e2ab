// SPDX-License-Identifier: Apache-2.0

#if Web
import DequeModule

/// Calls of visitors to the daemon, a few connections at a time, in order.
///
/// The daemon allows a user 128 connections, and visitors must not use up those that tell whether it lives.
final class DaemonQueue {
    /// The maximum number of connections, each of which may collect an answer.
    private static let limit = 8

    private let connect: DaemonConnector
    private var running = 0
    private(set) var waiting: Deque<DaemonCalls> = []
    /// The number of waiting calls at which those of visitors who have left are removed.
    private var mostWaiting = 64

    init(_ connect: @escaping DaemonConnector) { self.connect = connect }

    /// Makes calls as soon as there is a connection for them.
    func start(_ calls: DaemonCalls) {
        waiting.append(calls)
        startNext()
        guard waiting.count > mostWaiting else { return }
        // While the daemon hangs, visitors who come and go would fill the memory.
        waiting.removeAll(where: \.hasEnded)
        mostWaiting = max(64, 2 * waiting.count)
    }

    private func startNext() {
        while running < Self.limit, let calls = waiting.popFirst() {
            // Its visitor may have left.
            if calls.hasEnded { continue }
            running += 1
            calls.start(with: connect) { [self] in
                running -= 1
                startNext()
            }
        }
    }
}
#endif
