// SPDX-License-Identifier: Apache-2.0

import CMosquitto
import EventLoopIO
import Glibc
import StatusConfiguration

/// A connection to one of several brokers, which is made again whenever it ends.
///
/// It has a thread, because libmosquitto looks names up in a way that blocks. The thread never holds up the loop, and
/// the loop never waits for it, except for a moment in ``stop(_:)``.
@EventLoop
final class MQTTConnection {
    /// What a connection tells the broker first.
    struct Greeting: Sendable {
        var will: OutgoingMessage?
        var epoch: Int?
    }

    struct Settings: Sendable {
        var brokers: [MQTTBroker]
        var login: MQTTLogin
        var client: String
        /// Makes the greeting of each connection; called on the thread, where it may block.
        var greeting: @Sendable () -> Greeting = { Greeting() }
    }

    /// How long to wait for the thread at the end, which may be looking up a name.
    private static let patience = Duration.seconds(2)

    private let mailbox: MQTTMailbox
    private let handler: (MQTTEvent) -> Void
    /// The present connection; nil while there is none.
    private(set) var session: MQTTSessionInfo?
    private var waiting: ArraySlice<MQTTEvent> = []
    private var isDelivering = false
    private var endWaiter: (@Sendable (()) -> Void)?
    private var hasEnded = false

    /// Starts the thread, which connects at once.
    ///
    /// - Parameter handler: called with each event.
    init(_ settings: Settings, handler: @escaping @EventLoop (MQTTEvent) -> Void) throws(IOError) {
        mailbox = try MQTTMailbox()
        self.handler = handler
        BlockingThread.start { [mailbox, self] in
            var thread = MQTTThread(settings, mailbox) { EventLoop.perform(with: self) { $0.deliver() } }
            thread.run()
            EventLoop.perform(with: self) { $0.ended() }
        }
    }

    /// Prepares the library; call it before the first connection.
    nonisolated static func prepare() { mosquitto_lib_init() }

    func publish(_ message: OutgoingMessage) { send(.publish(message)) }

    /// Subscribes with QoS 0; the broker then sends its retained messages.
    func subscribe(_ filters: [String]) { if !filters.isEmpty { send(.subscribe(filters)) } }

    func unsubscribe(_ filters: [String]) { if !filters.isEmpty { send(.unsubscribe(filters)) } }

    /// Disconnects without the will, and connects again: at once, unless it is because of a failure.
    func reconnect(because reason: ConnectionFailure = .wanted) { send(.reconnect(reason)) }

    private func send(_ command: MQTTCommand) { if let session { mailbox.send(command, to: session.number) } }

    /// Reads no messages for a while, because their consumer is behind.
    func pause(_ isPaused: Bool) { mailbox.pause(isPaused) }

    /// Ends the connection without the will.
    ///
    /// - Parameter farewell: a last message, whose acknowledgement is awaited for at most 500 ms.
    func stop(_ farewell: OutgoingMessage? = nil) async {
        mailbox.stop(farewell)
        await TimedWait<Void>.run(within: Self.patience) { end in
            if hasEnded { end(()) } else { endWaiter = end }
        }
    }

    private func ended() {
        hasEnded = true
        session = nil
        endWaiter?(())
        endWaiter = nil
    }

    // MARK: Events

    private func deliver() {
        waiting += mailbox.takeEvents()
        if !isDelivering { handleWaiting() }
    }

    /// Handles events for a share of this turn, and the others in the next one.
    private func handleWaiting() {
        let share = TurnShare()
        var messages = 0
        while let event = waiting.popFirst() {
            switch event {
            case .connected(let info): session = info
            case .ended: session = nil
            case .message: messages += 1
            default: break
            }
            handler(event)
            if share.isUsedUp { break }
        }
        if messages > 0 { mailbox.handled(messages) }
        isDelivering = !waiting.isEmpty
        if isDelivering { EventLoop.atNextTurn { self.handleWaiting() } }
    }
}

/// The thread of a connection: one attempt to connect after the other.
private struct MQTTThread {
    private let settings: MQTTConnection.Settings
    private let mailbox: MQTTMailbox
    private let wakeLoop: () -> Void
    private var attempts: ConnectionAttempts

    init(_ settings: MQTTConnection.Settings, _ mailbox: MQTTMailbox, wakeLoop: @escaping () -> Void) {
        (self.settings, self.mailbox, self.wakeLoop) = (settings, mailbox, wakeLoop)
        attempts = ConnectionAttempts(settings.brokers, first: .random(in: 0..<settings.brokers.count))
    }

    /// Runs until the connection is stopped.
    mutating func run() {
        var number = 0
        while !mailbox.isStopped {
            number += 1
            let (failure, lasted) = connect(number)
            if mailbox.isStopped { return }
            post(.ended(failure, wasUp: lasted != nil))
            let pause = attempts.ended(failure, after: lasted, random: .random(in: 0...1))
            guard mailbox.sleep(for: pause) else { return }
        }
    }

    private func connect(_ number: Int) -> (ConnectionFailure, Duration?) {
        let attempt = attempts.next
        let greeting = settings.greeting()
        let info = MQTTSessionInfo(
            number: number, broker: attempt.broker, version: attempt.version, epoch: greeting.epoch)
        mailbox.begin(number)
        do throws(ConnectionFailure) {
            let session = try MQTTSession(
                info, client: settings.client, login: settings.login, will: greeting.will, post: post)
            let failure = session.run(mailbox)
            return (failure, session.lasted)
        } catch {
            return (error, nil)
        }
    }

    private func post(_ event: MQTTEvent) { if mailbox.post(event) { wakeLoop() } }
}
