// SPDX-License-Identifier: Apache-2.0

import CMosquitto
import EventLoopIO
import Glibc
import StatusConfiguration

/// A connection to one of several brokers, which is made again whenever it ends.
///
/// libmosquitto runs on the loop. Only what it does in a way that blocks has a thread, for each attempt: it looks names
/// up, and reads files.
@EventLoop
final class MQTTConnection: EndOfTurnWork {
    /// What a connection tells the broker first.
    struct Greeting: Sendable {
        var will: OutgoingMessage?
        var epoch: Int?
    }

    struct Settings: Sendable {
        var brokers: [MQTTBroker]
        var login: MQTTLogin
        var client: String
        /// Makes the greeting of each connection; called on a thread, where it may block.
        var greeting: @Sendable () -> Greeting = { Greeting() }
    }

    private enum State {
        /// A thread begins to connect.
        case opening
        /// The socket connects, or is connected.
        case open(MQTTSession, IOSource)
        /// It waits before the next attempt.
        case pausing
        case stopped
    }

    /// How long to wait for the thread at the end, which may be looking up a name.
    private static let patience = Duration.seconds(2)
    /// How long to wait for the answer to CONNECT.
    private static let greetingTime = Duration.seconds(5)
    /// How long to wait for the acknowledgement of the last message, or of CONNECT, at the end.
    private static let farewellTime = Duration.milliseconds(1800)
    /// How often libmosquitto checks whether it must send a ping.
    private static let checkTime = Duration.milliseconds(2500)

    private let settings: Settings
    private let handler: (MQTTEvent) -> Void
    private var attempts: ConnectionAttempts
    private var number = 0
    private var state = State.opening
    private var timer: TimerSource?
    private var isPaused = false
    private var isFlushScheduled = false
    /// Whether no further attempt is made.
    private var isStopping = false
    /// The last message, while its acknowledgement is awaited.
    private var farewell: Int32?
    private var endWaiter: (@Sendable (()) -> Void)?

    /// Begins to connect.
    ///
    /// - Parameter handler: called with each event.
    init(_ settings: Settings, handler: @escaping @EventLoop (MQTTEvent) -> Void) throws(IOError) {
        (self.settings, self.handler) = (settings, handler)
        attempts = ConnectionAttempts(settings.brokers, first: .random(in: 0..<settings.brokers.count))
        timer = try TimerSource { [weak self] in self?.timeIsUp() }
        open()
    }

    /// Prepares the library; call it before the first connection.
    nonisolated static func prepare() { mosquitto_lib_init() }

    /// The present connection; nil while there is none.
    var session: MQTTSessionInfo? { upSession?.info }

    private var upSession: MQTTSession? {
        guard case .open(let session, _) = state, session.isUp, !isStopping else { return nil }
        return session
    }

    // MARK: Orders

    func publish(_ message: OutgoingMessage) { order { $0.publish(message) } }

    /// Subscribes with QoS 0; the broker then sends its retained messages.
    func subscribe(_ filters: [String]) { if !filters.isEmpty { order { $0.subscribe(filters) } } }

    func unsubscribe(_ filters: [String]) { if !filters.isEmpty { order { $0.unsubscribe(filters) } } }

    /// Disconnects without the will, and connects again: at once, unless it is because of a failure.
    func reconnect(because reason: ConnectionFailure = .wanted) { order { $0.disconnect(reason) } }

    /// Packets are written at the end of the turn, all together.
    private func order(_ body: (MQTTSession) -> Void) {
        guard let session = upSession else { return }
        body(session)
        scheduleFlush()
    }

    /// Reads no messages for a while, because their consumer is behind.
    func pause(_ isPaused: Bool) {
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        scheduleFlush()
    }

    /// Ends the connection without the will.
    ///
    /// - Parameter farewell: a last message, whose acknowledgement is awaited for a moment.
    func stop(_ farewell: OutgoingMessage? = nil) async {
        await TimedWait<Void>.run(within: Self.patience) { end in
            endWaiter = end
            beginStop(farewell)
        }
    }

    private func beginStop(_ farewell: OutgoingMessage?) {
        let session = upSession
        isStopping = true
        guard let session else {
            switch state {
            // A thread that is looking up a name cannot be stopped.
            case .opening: return
            // If the broker knows the will already, it must hear DISCONNECT.
            case .open: return timer?.schedule(after: Self.farewellTime) ?? ()
            case .pausing, .stopped: return finish(.wanted, lasted: nil)
            }
        }
        if let farewell {
            self.farewell = session.publish(farewell)
            timer?.schedule(after: Self.farewellTime)
        } else {
            session.disconnect(.wanted)
        }
        flush()
    }

    // MARK: Attempts

    private func open() {
        state = .opening
        number += 1
        let (settings, attempt, number) = (settings, attempts.next, number)
        BlockingThread.start { [self] in
            let greeting = settings.greeting()
            let info = MQTTSessionInfo(
                number: number, broker: attempt.broker, version: attempt.version, epoch: greeting.epoch)
            let result = Result { () throws(ConnectionFailure) in
                try MQTTSession(info, client: settings.client, login: settings.login, will: greeting.will)
            }
            EventLoop.perform(with: self) { $0.opened(result) }
        }
    }

    private func opened(_ result: Result<MQTTSession, ConnectionFailure>) {
        guard !isStopping else { return finish(.wanted, lasted: nil) }
        do throws(ConnectionFailure) {
            let session = try result.get()
            let source: IOSource
            do throws(IOError) {
                source = try IOSource(try session.copyOfSocket(), events: [.readable, .writable]) { [weak self] in
                    self?.socketIsReady($0)
                }
            } catch { throw ConnectionFailure(.lost, error.message) }
            state = .open(session, source)
            timer?.schedule(after: Self.greetingTime)
        } catch { finish(error, lasted: nil) }
    }

    private func timeIsUp() {
        switch state {
        case .opening, .stopped: break
        case .pausing: open()
        case .open(let session, _):
            if farewell != nil {
                endFarewell(session)
            } else if session.isUp {
                session.check()
                timer?.schedule(after: Self.checkTime)
            } else {
                session.fail(.noAnswer(session.info.broker))
            }
            flush()
        }
    }

    private func finish(_ failure: ConnectionFailure, lasted: Duration?) {
        if case .open(_, let source) = state { source.cancel() }
        farewell = nil
        guard !isStopping else {
            state = .stopped
            timer?.cancel()
            endWaiter?(())
            endWaiter = nil
            return
        }
        state = .pausing
        timer?.schedule(after: attempts.ended(failure, after: lasted, random: .random(in: 0...1)))
        handler(.ended(failure, wasUp: lasted != nil))
    }

    // MARK: The socket

    private func socketIsReady(_ events: IOSource.Events) {
        guard case .open(let session, _) = state else { return }
        if session.isConnected(), !events.isDisjoint(with: [.readable, .hangUp, .error]) { read(session) }
        if !events.isDisjoint(with: [.hangUp, .error]) { session.hungUp() }
        flush()
    }

    /// Reads packets for a share of this turn, while there are some and their consumer keeps up.
    private func read(_ session: MQTTSession) {
        let share = TurnShare()
        repeat {
            session.read()
            deliver(session)
        } while session.isUp && !isPaused && !share.isUsedUp && session.hasInput
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        EventLoop.atEndOfTurn(self)
    }

    func turnEnds() {
        isFlushScheduled = false
        flush()
    }

    /// Writes what waits, and goes on after what has happened.
    private func flush() {
        guard case .open(let session, let source) = state else { return }
        session.write()
        deliver(session)
        if let failure = session.failure {
            finish(failure, lasted: session.lasted)
        } else {
            source.events = session.wantedEvents(mayRead: !isPaused)
        }
    }

    private func deliver(_ session: MQTTSession) {
        for event in session.takeEvents() {
            if case .connected = event {
                if isStopping { session.disconnect(.wanted) } else { timer?.schedule(after: Self.checkTime) }
            }
            if let farewell, session.isAcknowledged(farewell) { endFarewell(session) }
            if !isStopping { handler(event) }
        }
    }

    private func endFarewell(_ session: MQTTSession) {
        farewell = nil
        // Only now: if unread input were left, closing would reset the connection, and the broker send the will.
        session.disconnect(.wanted)
        scheduleFlush()
    }
}
