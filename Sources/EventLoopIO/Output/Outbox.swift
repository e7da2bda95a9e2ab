// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Sends messages in order, on its own thread, to a receiver that may block its sender.
///
/// Posting a message never blocks. If the receiver reads nothing, messages are kept up to a limit; then the oldest are
/// dropped and counted. The thread ends when no message is left.
package final class Outbox<Message: Sendable>: Sendable {
    private struct State {
        var queue: OutboxQueue<Message>
        var waiters: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let send: @Sendable (Message) -> Void
    private let reportLoss: @Sendable (Int) -> Void

    /// Creates an outbox.
    ///
    /// - Parameters:
    ///   - capacity: how many bytes of messages may wait.
    ///   - send: sends a message, and may wait; called on the outbox's thread.
    ///   - reportLoss: called on that thread with the number of dropped messages, after the others have been sent.
    package init(
        capacity: Int, send: @escaping @Sendable (Message) -> Void, reportLoss: @escaping @Sendable (Int) -> Void
    ) {
        state = Mutex(State(queue: OutboxQueue(capacity: capacity)))
        self.send = send
        self.reportLoss = reportLoss
    }

    /// Sends a message of `size` bytes soon.
    ///
    /// - Parameters:
    ///   - message: what to send.
    ///   - size: its size in bytes.
    ///   - inPlace: whether it takes the position of the message that it replaces.
    ///   - replaces: whether it replaces a given waiting message; nil if it replaces none.
    package func post(
        _ message: Message, size: Int, inPlace: Bool = false,
        replacing replaces: (@Sendable (Message) -> Bool)? = nil
    ) {
        let mustStart = state.withLock { $0.queue.add(message, size: size, inPlace: inPlace, replacing: replaces) }
        if mustStart { BlockingThread.start { self.work() } }
    }

    /// Returns when everything has been sent, or after `limit`.
    @EventLoop package func drain(within limit: Duration) async {
        await TimedWait<Void>.run(within: limit) { end in
            let isEmpty = state.withLock { state in
                if !state.queue.isEmpty { state.waiters.append { end(()) } }
                return state.queue.isEmpty
            }
            if isEmpty { end(()) }
        }
    }

    private func work() {
        while true {
            let (step, waiters) = state.withLock { state in
                let step = state.queue.next()
                guard case .end = step else { return (step, [@Sendable () -> Void]()) }
                defer { state.waiters = [] }
                return (step, state.waiters)
            }
            switch step {
            case .send(let message): send(message)
            case .reportLoss(let count): reportLoss(count)
            case .end: return waiters.forEach { $0() }
            }
        }
    }
}
