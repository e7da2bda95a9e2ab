// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import StatusInterface
import StatusModel
import Synchronization

/// Publishes the servers of this host, with a connection that subscribes to nothing.
///
/// If input were unread when it ends, the broker could lose the DISCONNECT and send the will.
@EventLoop
final class Publisher {
    struct Settings {
        var host: String
        var machine: String
        var patterns: [String]
        var connection: MQTTConnection.Settings
        var discovery: Discovery?
    }

    /// How often this host says that it is ready.
    ///
    /// The second time comes soon: a new cluster of NATS lost what 200 of 300 hosts had said first.
    private static let beat = (second: Duration.seconds(5), later: Duration.seconds(60))
    /// After so many beats, all servers are published again; not by all hosts at the same time.
    ///
    /// A node of NATS that survived another one has acknowledged changes that it then did not keep.
    private static let beatsPerRepetition = 5...15
    /// With MQTT 3.1.1, as NATS speaks it, they are published again after the first beats; the times between these.
    private static let earlyBeats = [Duration.seconds(10), .seconds(15)]

    private let settings: Settings
    private let daemon: DaemonLink
    private let epochs: EpochCounter
    private let logger: Logger
    private let limiter: LogLimiter
    /// Called with what the connection reports, after it was handled here.
    private let onEvent: (MQTTEvent) -> Void
    private var ownership: Ownership
    private var connection: MQTTConnection?
    /// Whether the connection publishes, and does not only claim the name; read on its thread.
    private let isOwner = Atomic(false)
    private var machine: PublishMachine?
    private var discovery: Discovery?
    /// The names that the broker may have, while nothing is published.
    private var kept: Set<ServerName> = []
    private var watch: Task<Void, Never>?
    private var timer: TimerSource?
    /// The number of beats until all servers are published again.
    private var beatsLeft = 0
    private var earlyBeats: ArraySlice<Duration> = []
    private var isDaemonAway = false
    /// Whether another machine has this host's name.
    private var isHeld = false
    private var unacknowledgedPresences = 0
    /// The daemon's log, whose revisions are published in this connection.
    private var log: Epoch?

    init(
        _ settings: Settings, daemon: DaemonLink, epochs: EpochCounter, logger: Logger,
        onEvent: @escaping (MQTTEvent) -> Void
    ) throws(IOError) {
        (self.settings, self.daemon, self.epochs, self.logger) = (settings, daemon, epochs, logger)
        self.onEvent = onEvent
        limiter = LogLimiter(logger, .error, interval: .seconds(600))
        ownership = Ownership(machine: settings.machine)
        discovery = settings.discovery
        timer = try TimerSource(accuracy: .seconds(1)) { [weak self] in self?.beat() }
        timer?.schedule(after: Self.beat.later)
    }

    /// The number of published servers; nil while nothing is published.
    var publishedCount: Int? { machine?.count }

    /// Ends the connection, and says that this host has stopped.
    func stop() async {
        timer?.cancel()
        watch?.cancel()
        let epoch = connection?.session?.epoch
        await connection?.stop(machine == nil ? nil : epoch.map { presence(.stopped, $0) })
    }

    // MARK: What the subscribing connection hears below this host's name

    /// The broker has sent what it keeps of this host, or does not let it be read.
    func looked() { carryOut(ownership.looked()) }

    func heardPresence(_ payload: [UInt8]) {
        let presence = Presence.read(payload, at: .now)
        if let presence { epochs.saw(presence.epoch) }
        let now = Duration.nanoseconds(Int64(nanoseconds(of: CLOCK_BOOTTIME)))
        carryOut(ownership.heard(presence, mayBeStopped: isDaemonAway, now: now))
    }

    func heardServer(_ name: ServerName, _ payload: [UInt8]) {
        guard !payload.isEmpty else { return }
        if machine == nil, kept.count < PublishMachine.mostLeftovers { kept.insert(name) }
        machine?.heard(name)
        pump()
        let version = StateVersion.read(payload, at: .now)
        if let version { epochs.saw(version.epoch) }
        guard let machine, machine.isOvertaken(by: version, for: name) else { return }
        limiter.log(
            """
            another client of the broker has written \(Topic.server(host: settings.host, name).text); all servers are \
            published again; see statusd-mqtt(8) for the rights that the broker should give
            """, about: "foreign")
        connection?.reconnect()
    }

    func heardClaim(_ payload: [UInt8]) {
        guard ownership.state == .publishing, let machine = Claim.machine(in: payload), machine != settings.machine
        else { return }
        limiter.log(
            """
            another machine (\(machine.prefix(8))…) also wants to be \(settings.host) at the broker, and publishes \
            nothing; give one of them another “host” below “mqtt”
            """, about: "claim")
    }

    private func carryOut(_ action: Ownership.Action?) {
        switch action {
        case nil: break
        case .publish:
            if isHeld { logger.info("the other machine is gone; this one publishes as \(settings.host) now") }
            isHeld = false
            connect(asOwner: true)
        // Whoever writes there again and again gets one answer at a time.
        case .sayReady: if unacknowledgedPresences == 0 { sayReady() }
        case .connectAgain: connection?.reconnect()
        case .hold(let rival), .yield(let rival):
            isHeld = true
            limiter.log(
                """
                another machine (\(rival.machine.prefix(8))…) is already \(settings.host) at the broker; nothing is \
                published; give one of them another “host” below “mqtt”
                """, about: "owner")
            endSession()
            connect(asOwner: false)
        case .stay(let rival):
            let who =
                rival.machine == settings.machine
                ? "a second statusd-mqtt of this machine, or of a copy of it, publishes as \(settings.host) at the "
                    + "broker, and the two take turns"
                : "another machine (\(rival.machine.prefix(8))…) has published as \(settings.host) at the broker; "
                    + "this one came first and continues"
            limiter.log("\(who); give one of them another “host” below “mqtt”", about: "rival")
            connection?.reconnect()
        }
    }

    // MARK: The connection

    private func connect(asOwner: Bool) {
        let former = isOwner.exchange(asOwner, ordering: .relaxed)
        if let connection {
            if former != asOwner { connection.reconnect() }
            return
        }
        let (host, machine, epochs) = (settings.host, settings.machine, epochs)
        var connectionSettings = settings.connection
        connectionSettings.greeting = { [self] in
            guard isOwner.load(ordering: .relaxed) else { return MQTTConnection.Greeting() }
            let epoch = epochs.next()
            let will = Presence(state: .lost, epoch: epoch, machine: machine)
            return MQTTConnection.Greeting(
                will: OutgoingMessage(topic: Topic.presence(host: host).text, payload: will.payload), epoch: epoch)
        }
        do throws(IOError) {
            connection = try MQTTConnection(connectionSettings) { [weak self] in self?.take($0) }
        } catch {
            logger.error("cannot publish: \(error.message)")
        }
    }

    private func take(_ event: MQTTEvent) {
        switch event {
        case .connected(let info):
            if let epoch = info.epoch { begin(epoch) } else { claim() }
        case .published(let topic, let refusal):
            machine?.acknowledged()
            if topic == Topic.presence(host: settings.host).text { unacknowledgedPresences -= 1 }
            if let refusal {
                let user = settings.connection.login.user.map { "the user “\(VisibleText.escape($0))”" } ?? "everyone"
                limiter.log(
                    """
                    the broker does not take \(topic): \(refusal); it must permit \(user) to write there, see \
                    statusd-mqtt(8), or “host” must be another name
                    """, about: "refusal")
            }
            pump()
        case .ended: endSession()
        case .message, .subscribed: break
        }
        onEvent(event)
    }

    /// A connection of the owner has begun: all is published again, because the broker may have forgotten it.
    private func begin(_ epoch: Int) {
        // Meanwhile, there may have been a higher number below this host's name.
        guard ownership.state == .publishing, epochs.last == epoch else { return connection?.reconnect() ?? () }
        ownership.connected(epoch: epoch)
        (log, unacknowledgedPresences) = (nil, 0)
        isDaemonAway = false
        let isOlder = connection?.session?.version == .three
        earlyBeats = isOlder ? Self.earlyBeats[...] : []
        beatsLeft = isOlder ? 1 : .random(in: Self.beatsPerRepetition)
        publishAll(epoch)
        sayReady()
        timer?.schedule(after: Self.beat.second)
    }

    private func publishAll(_ epoch: Int) {
        endSession()
        machine = PublishMachine(
            host: settings.host, patterns: settings.patterns, epoch: epoch, kept: kept, discovery: discovery)
        kept = []
        // Unstructured, because it lasts until all is published again; endSession() cancels it.
        watch = Task { [self] in
            try? await daemon.watch { event in
                if Task.isCancelled || log ?? event.cursor.epoch != event.cursor.epoch { return false }
                log = event.cursor.epoch
                machine?.take(event)
                pump()
                return true
            } away: {
                isDaemonAway = true
                send(presence(.stopped, epoch))
            }
            // The daemon is back with another log, or after a long time.
            if !Task.isCancelled { connection?.reconnect() }
        }
    }

    private func endSession() {
        watch?.cancel()
        watch = nil
        guard let machine else { return }
        (discovery, kept) = (machine.announced, machine.mayBeKept)
        self.machine = nil
    }

    // MARK: Messages

    private func presence(_ state: HostState, _ epoch: Int) -> OutgoingMessage {
        let presence = Presence(
            state: state, epoch: epoch, machine: settings.machine, first: ownership.first,
            version: MonitorVersion.current, at: Timestamp.now, servers: machine?.count)
        return OutgoingMessage(topic: Topic.presence(host: settings.host).text, payload: presence.payload)
    }

    private func sayReady() {
        guard !isDaemonAway, machine != nil, let epoch = connection?.session?.epoch else { return }
        send(presence(.ready, epoch))
    }

    private func claim() {
        let payload = Claim.payload(of: settings.machine, at: Timestamp.now)
        connection?.publish(
            OutgoingMessage(topic: Topic.claim(host: settings.host).text, payload: payload, isRetained: false))
    }

    private func beat() {
        let next = earlyBeats.popFirst()
        timer?.schedule(after: next ?? Self.beat.later)
        carryOut(ownership.tick(now: .nanoseconds(Int64(nanoseconds(of: CLOCK_BOOTTIME)))))
        if case .waiting = ownership.state { claim() } else { sayReady() }
        guard machine != nil, !isDaemonAway, let epoch = connection?.session?.epoch else { return }
        beatsLeft -= 1
        guard beatsLeft <= 0 else { return }
        beatsLeft = next == nil ? .random(in: Self.beatsPerRepetition) : 1
        publishAll(epoch)
    }

    private func send(_ message: OutgoingMessage) {
        machine?.sent()
        unacknowledgedPresences += 1
        connection?.publish(message)
    }

    private func pump() {
        while let message = machine?.next() { connection?.publish(message) }
    }
}
