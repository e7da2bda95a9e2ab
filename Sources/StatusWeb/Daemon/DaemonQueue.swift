// SPDX-License-Identifier: Apache-2.0

#if Web
import DequeModule

/// Calls of visitors to the daemon, a few connections at a time, in turns: a visitor who asks much waits for itself.
///
/// The daemon allows a user 128 connections, and visitors must not use up those that tell whether it lives.
final class DaemonQueue {
    /// The maximum number of connections, each of which may collect an answer.
    private static let limit = 8

    private let connect: DaemonConnector
    private var running = 0
    /// The calls of each visitor that wait, in order.
    private var waiting: [String: Deque<DaemonCalls>] = [:]
    /// The visitors with such calls; the first one is the next.
    private var turns: Deque<String> = []
    private(set) var count = 0
    /// The number of waiting calls at which those of visitors who have left are removed.
    private var mostWaiting = 64

    init(_ connect: @escaping DaemonConnector) { self.connect = connect }

    /// Makes calls as soon as it is their visitor's turn.
    func start(_ calls: DaemonCalls, for visitor: String) {
        if waiting[visitor] == nil { turns.append(visitor) }
        waiting[visitor, default: []].append(calls)
        count += 1
        startNext()
        if count > mostWaiting { forgetEnded() }
    }

    /// While the daemon hangs, visitors who come and go would fill the memory.
    private func forgetEnded() {
        for visitor in turns { waiting[visitor]?.removeAll(where: \.hasEnded) }
        turns.removeAll { waiting[$0]?.isEmpty ?? true }
        waiting = waiting.filter { !$0.value.isEmpty }
        count = waiting.values.reduce(0) { $0 + $1.count }
        mostWaiting = max(64, 2 * count)
    }

    private func startNext() {
        while running < Self.limit, let visitor = turns.popFirst(), let calls = waiting[visitor]?.popFirst() {
            count -= 1
            if waiting[visitor]?.isEmpty ?? true { waiting[visitor] = nil } else { turns.append(visitor) }
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
