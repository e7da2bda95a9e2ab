// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// Sends messages in order to a receiver that may block its sender.
///
/// Posting a message never blocks. A message is sent at once if the receiver has room. Otherwise messages are kept, up
/// to a limit, for a thread that sends them and then ends; if there are more, the oldest are dropped and counted.
package final class Outbox<Message: Sendable>: Sendable {
    private struct State {
        var queue: OutboxQueue<Message>
        var waiters: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let sendNow: @Sendable (Message) -> Bool
    private let send: @Sendable (Message) -> Void
    private let reportLoss: @Sendable (Int) -> Void

    /// Creates an outbox.
    ///
    /// - Parameters:
    ///   - capacity: how many bytes of messages may wait.
    ///   - sendNow: sends a message without waiting; called on the thread that posts it, and only if no earlier message
    ///     waits. Returns false if the message must wait.
    ///   - send: sends a message, and may wait; called on the outbox's thread.
    ///   - reportLoss: called on that thread with the number of dropped messages, after the others have been sent.
    package init(
        capacity: Int, sendNow: @escaping @Sendable (Message) -> Bool = { _ in false },
        send: @escaping @Sendable (Message) -> Void, reportLoss: @escaping @Sendable (Int) -> Void
    ) {
        state = Mutex(State(queue: OutboxQueue(capacity: capacity)))
        self.sendNow = sendNow
        self.send = send
        self.reportLoss = reportLoss
    }

    /// Sends a message of `size` bytes at once or soon.
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
        if state.withLock({ $0.queue.isEmpty }), sendNow(message) { return }
        let mustStart = state.withLock { $0.queue.add(message, size: size, inPlace: inPlace, replacing: replaces) }
        if mustStart { BlockingThread.start { self.work() } }
    }

    /// Blocks the caller until everything has been sent, up to `limit`.
    ///
    /// Call it from a handler of atexit(3), because the end of the process ends the thread.
    package func flush(within limit: Duration = .milliseconds(500)) {
        // Without a descriptor, poll(2) waits for all of the limit.
        let end = OwnedDescriptor(adopting: eventfd(0, Int32(EFD_CLOEXEC)))
        let mustWait = state.withLock { state in
            if !state.queue.isEmpty { state.waiters.append { eventfd_write(end.rawValue, 1) } }
            return !state.queue.isEmpty
        }
        guard mustWait else { return }
        var wait = pollfd(fd: end.rawValue, events: Int16(POLLIN), revents: 0)
        poll(&wait, 1, Int32(limit / .milliseconds(1)))
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
