// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// A connection to one service on the system bus, whose events are handled on the loop.
///
/// A lost connection is not reused; create a new one.
@EventLoop
final class BusConnection {
    private var thread: BusThread?
    private let handler: @EventLoop (BusThread.Event) -> Void
    /// The handlers of replies, by the number of the call.
    private var replies: [Int: @EventLoop (BusMessage) -> Void] = [:]
    private var callCount = 0

    /// Begins to connect; calls wait until it has.
    ///
    /// - Parameters:
    ///   - settings: the bus and the service.
    ///   - handler: called with every event but replies; never from within a call to the connection.
    init(_ settings: BusSettings, handler: @escaping @EventLoop (BusThread.Event) -> Void) throws(IOError) {
        self.handler = handler
        thread = try BusThread(settings) { [weak self] in
            EventLoop.perform { self?.takeEvents() }
        }
    }

    isolated deinit { close() }

    /// Makes the bus send the signals that match `rule` (sd_bus_add_match(3)).
    func addMatch(_ rule: String) {
        let call = BusCall(
            destination: BusTrust.busName, path: "/org/freedesktop/DBus", interface: BusTrust.busName,
            member: "AddMatch",
            arguments: [rule], timeout: .seconds(25))
        send(call) { [weak self] reply in
            if let failure = reply.failure { self?.lose(failure.message) }
        }
    }

    /// Calls a method; `reply` is called with the reply or the error.
    func send(_ call: BusCall, reply: @escaping @EventLoop (BusMessage) -> Void) {
        guard let thread else { return }
        callCount += 1
        replies[callCount] = reply
        var call = call
        call.number = callCount
        thread.send(call)
    }

    /// Ends the connection; no handler is called after this.
    func close() {
        thread?.close()
        thread = nil
        replies = [:]
    }

    /// Handles the thread's events until the share of the turn is used up.
    private func takeEvents() {
        let share = TurnShare()
        // The handler of an event may close the connection.
        while let event = thread?.nextEvent() {
            take(event)
            if share.isUsedUp { return EventLoop.atNextTurn { [weak self] in self?.takeEvents() } }
        }
    }

    private func take(_ event: BusThread.Event) {
        switch event {
        case .reply(let number, let message): replies.removeValue(forKey: number)?(message)
        case .signal, .disturbed: handler(event)
        case .lost(let reason): lose(reason)
        }
    }

    private func lose(_ reason: String) {
        close()
        handler(.lost(reason))
    }
}
