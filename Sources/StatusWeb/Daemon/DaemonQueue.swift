// SPDX-License-Identifier: Apache-2.0

#if Web
import DequeModule
import NIOCore

/// The visitors' calls to the daemon, a few connections at a time, in order.
///
/// The daemon allows a user 128 connections, and visitors must not use up those that tell whether it lives.
final class DaemonQueue {
    /// The maximum number of connections, each of which may collect an answer.
    private static let limit = 16

    private let path: String
    private let loop: any NIOCore.EventLoop
    private var running = 0
    private var waiting: Deque<DaemonCalls> = []

    init(path: String, loop: any NIOCore.EventLoop) { (self.path, self.loop) = (path, loop) }

    /// Makes calls as soon as there is a connection for them.
    func start(_ calls: DaemonCalls) {
        waiting.append(calls)
        startNext()
    }

    private func startNext() {
        while running < Self.limit, let calls = waiting.popFirst() {
            // Its visitor may have left.
            if calls.hasEnded { continue }
            running += 1
            calls.start(at: path, on: loop) { [self] in
                running -= 1
                startNext()
            }
        }
    }
}
#endif
