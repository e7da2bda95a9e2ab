// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// A connection to one service on the system bus, whose events come to the loop; a lost connection is not made again.
@EventLoop
final class BusConnection {
    /// What comes unasked.
    enum Event {
        /// A signal of the service, or of the bus.
        case signal(BusMessage)
        /// Others have sent something, or had the service send much, which is told once in a while; or so many signals came that some were dropped.
        case disturbed
        /// The connection is of no use any more: why, a phrase.
        case lost(String)
    }

    private let service: String
    private var thread: BusThread?
    private let handler: @EventLoop (Event) -> Void
    /// What is waited for, by the number of the call.
    private var replies: [Int: @EventLoop (BusMessage) -> Void] = [:]
    private var callCount = 0

    /// Begins to connect; what is sent meanwhile waits.
    ///
    /// - Parameters:
    ///   - settings: with whom to talk.
    ///   - handler: never called from within a call to the connection.
    init(_ settings: BusSettings, handler: @escaping @EventLoop (Event) -> Void) throws(IOError) {
        service = settings.service
        self.handler = handler
        thread = try BusThread(settings) { [weak self] in
            EventLoop.perform { self?.takeEvents() }
        }
    }

    isolated deinit { close() }

    /// Has the bus send the signals that `rule` (sd_bus_add_match(3)) lets through.
    func addMatch(_ rule: String) {
        let bus = BusTrust.busName
        send(to: bus, "/org/freedesktop/DBus", bus, "AddMatch", [rule], within: .seconds(25)) { [weak self] reply in
            if let failure = reply.failure { self?.lose(failure.message) }
        }
    }

    /// Calls a method of the service that takes strings; `reply` is called with the reply, or with the error that takes its place.
    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [String] = [],
        within limit: Duration, reply: @escaping @EventLoop (BusMessage) -> Void
    ) {
        send(to: service, path, interface, member, arguments, within: limit, reply: reply)
    }

    /// Ends the connection; nothing is told any more, and no reply comes.
    func close() {
        thread?.close()
        thread = nil
        replies = [:]
    }

    private func send(
        to destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        within limit: Duration, reply: @escaping @EventLoop (BusMessage) -> Void
    ) {
        guard let thread else { return }
        callCount += 1
        replies[callCount] = reply
        thread.send(
            BusCall(
                number: callCount, destination: destination, path: path, interface: interface, member: member,
                arguments: arguments, timeout: limit))
    }

    /// Takes what the thread has, as long as the share of the turn lasts.
    private func takeEvents() {
        let share = TurnShare()
        // Whoever takes an event may close the connection.
        while let event = thread?.nextEvent() {
            take(event)
            if share.isUsedUp { return EventLoop.atNextTurn { [weak self] in self?.takeEvents() } }
        }
    }

    private func take(_ event: BusThread.Event) {
        switch event {
        case .reply(let number, let message): replies.removeValue(forKey: number)?(message)
        case .signal(let message): handler(.signal(message))
        case .disturbed: handler(.disturbed)
        case .lost(let reason): lose(reason)
        }
    }

    private func lose(_ reason: String) {
        close()
        handler(.lost(reason))
    }
}
