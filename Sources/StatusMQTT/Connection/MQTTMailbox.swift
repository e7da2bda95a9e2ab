// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Synchronization

/// What the loop and the thread of a connection have for each other.
///
/// Neither waits for the other: the thread is woken by an eventfd, and the loop by a closure.
final class MQTTMailbox: Sendable {
    /// How many messages from the broker may wait for the loop; while there are so many, no more are read.
    static let capacity = 256

    /// What the thread must do.
    struct Orders {
        var commands: [MQTTCommand] = []
        var stop: Stop?
        /// Whether messages from the broker may be read.
        var mayRead = true
    }

    /// The end of the connection.
    struct Stop: Sendable {
        /// A last message, whose acknowledgement is awaited for a moment.
        let farewell: OutgoingMessage?
    }

    private struct State {
        var commands: [MQTTCommand] = []
        /// The attempt for which the commands are.
        var session = 0
        var stop: Stop?
        var isPaused = false
        var events: [MQTTEvent] = []
        /// The messages from the broker that the loop has not handled.
        var waitingMessages = 0
        var isDeliveryScheduled = false
    }

    private let state = Mutex(State())
    /// The eventfd that wakes the thread.
    let wakeUp: OwnedDescriptor

    init() throws(IOError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot create an eventfd") }
        wakeUp = OwnedDescriptor(adopting: descriptor)
    }

    private func wakeThread() { eventfd_write(wakeUp.rawValue, 1) }

    // MARK: For the loop

    /// Adds a command for a connection; it is dropped if that has ended.
    func send(_ command: MQTTCommand, to session: Int) {
        let isFirst = state.withLock { state in
            guard state.session == session else { return false }
            state.commands.append(command)
            return state.commands.count == 1
        }
        if isFirst { wakeThread() }
    }

    /// Ends the thread, for good.
    func stop(_ farewell: OutgoingMessage?) {
        state.withLock { $0.stop = Stop(farewell: farewell) }
        wakeThread()
    }

    /// Pauses or continues the reading of messages.
    func pause(_ isPaused: Bool) {
        let hasChanged = state.withLock { state in
            defer { state.isPaused = isPaused }
            return state.isPaused != isPaused
        }
        if hasChanged, !isPaused { wakeThread() }
    }

    /// Takes the events since the last call.
    func takeEvents() -> [MQTTEvent] {
        state.withLock { state in
            state.isDeliveryScheduled = false
            defer { state.events = [] }
            return state.events
        }
    }

    /// The loop has handled this many messages.
    func handled(_ count: Int) {
        let wasFull = state.withLock { state in
            defer { state.waitingMessages -= count }
            return state.waitingMessages >= Self.capacity
        }
        if wasFull { wakeThread() }
    }

    // MARK: For the thread

    /// Adds an event; returns whether the loop must be told.
    func post(_ event: MQTTEvent) -> Bool {
        state.withLock { state in
            state.events.append(event)
            if case .message = event { state.waitingMessages += 1 }
            defer { state.isDeliveryScheduled = true }
            return !state.isDeliveryScheduled
        }
    }

    /// Begins a new attempt; commands for earlier ones are dropped.
    func begin(_ session: Int) {
        state.withLock { state in
            (state.session, state.commands) = (session, [])
        }
    }

    /// Takes the orders since the last call.
    func takeOrders() -> Orders {
        state.withLock { state in
            defer { state.commands = [] }
            return Orders(
                commands: state.commands, stop: state.stop,
                mayRead: !state.isPaused && state.waitingMessages < Self.capacity)
        }
    }

    /// Whether the loop keeps up with messages.
    var mayRead: Bool { state.withLock { !$0.isPaused && $0.waitingMessages < Self.capacity } }

    var isStopped: Bool { state.withLock { $0.stop != nil } }

    /// Waits, unless the connection is stopped; returns whether it still runs.
    func sleep(for duration: Duration) -> Bool {
        let end = nanoseconds(of: CLOCK_MONOTONIC) + UInt64(max(0, duration / .nanoseconds(1)))
        while !isStopped {
            let now = nanoseconds(of: CLOCK_MONOTONIC)
            if now >= end { return true }
            var descriptor = pollfd(fd: wakeUp.rawValue, events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, Int32(clamping: (end - now) / 1_000_000 + 1)) > 0 { clearWakeUp() }
        }
        return false
    }

    func clearWakeUp() {
        var value: eventfd_t = 0
        eventfd_read(wakeUp.rawValue, &value)
    }
}
