// SPDX-License-Identifier: Apache-2.0

import DequeModule
import EventLoopIO
import Glibc
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import Varlink

/// Hears what the broker has of this host and of others, and tells the daemon about the others.
@EventLoop
final class Subscriber {
    struct Settings {
        /// The name of this host.
        var own: String
        /// Identifies the machine.
        var machine: String
        var follow: [FollowPattern]
        var connection: MQTTConnection.Settings
    }

    /// How many reports the daemon may owe an answer.
    private static let window = 256
    /// How often the time of passes is looked at, during one and between them.
    private static let tick = (active: Duration.seconds(1), idle: Duration.seconds(15))
    /// How long to wait for what the broker keeps of this host.
    private static let lookTime = Duration.milliseconds(500)

    private enum Call { case report(FollowReport), endPass }

    private let settings: Settings
    private let daemon: DaemonLink
    private let logger: Logger
    private let limiter: LogLimiter
    private let publisher: Publisher?
    private let onEvent: (MQTTEvent) -> Void
    private let filters: [String]
    private var connection: MQTTConnection?
    private var reader: FollowReader
    private var passes = PassMachine()
    private var presence: OwnPresence
    private var losses = LossHold()
    private var wasConnected = false
    /// Whether something was heard of this host, and of others.
    private var hasHeard = (own: false, others: false)
    /// Until when hosts may come back after an absence of the broker.
    private var returnsEnd = Duration.zero
    /// The filters that were subscribed to only to read hosts again.
    private var repeated: [String] = []
    private var calls: Deque<Call> = []
    private var unanswered = 0
    private var timer: TimerSource?
    private var lookTimer: TimerSource?
    /// The number of hosts that are ready, by what they say.
    var readyHosts: Int { losses.readyHosts.count }

    init(
        _ settings: Settings, daemon: DaemonLink, publisher: Publisher?, logger: Logger,
        onEvent: @escaping (MQTTEvent) -> Void
    ) throws(IOError) {
        (self.settings, self.daemon, self.publisher, self.logger) = (settings, daemon, publisher, logger)
        self.onEvent = onEvent
        limiter = LogLimiter(logger, .warning, interval: .seconds(60))
        reader = FollowReader(settings.follow, own: settings.own)
        presence = OwnPresence(machine: settings.machine, now: Self.now)
        let own = publisher == nil ? [] : [Topic.filter(host: settings.own)]
        filters = own + FollowReader.filters(for: settings.follow)
        timer = try TimerSource(clock: .boottime, accuracy: .milliseconds(250)) { [weak self] in self?.ticks() }
        lookTimer = try TimerSource { [weak self] in self?.publisher?.looked() }
        connection = try MQTTConnection(settings.connection) { [weak self] in self?.take($0) }
    }

    func stop() async {
        timer?.cancel()
        await connection?.stop()
    }

    /// The daemon answers again, and may know less than before.
    func daemonIsBack() {
        presence.daemonIsBack(now: Self.now)
        tellPresence()
        if connection?.session != nil { beginPasses() }
    }

    private static var now: Duration { .nanoseconds(Int64(nanoseconds(of: CLOCK_BOOTTIME))) }

    // MARK: The broker

    private func take(_ event: MQTTEvent) {
        switch event {
        case .connected:
            if wasConnected { returnsEnd = Self.now + OwnPresence.returnTime }
            wasConnected = true
            presence.connected(now: Self.now, wall: Timestamp.now)
            tellPresence()
            beginPasses()
        case .subscribed(let granted):
            passes.subscribed(now: Self.now)
            lookTimer?.schedule(after: Self.lookTime)
            if granted.contains(false) {
                limiter.log(
                    """
                    the broker does not permit \(granted.filter { !$0 }.count) of \(granted.count) subscriptions; see \
                    statusd-mqtt(8) for the rights that it must give
                    """, about: "subscriptions", level: .error)
            }
        case .message(let message): take(message)
        case .ended:
            repeated = []
            presence.disconnected(now: Self.now)
            timer?.schedule(after: Self.tick.active)
            passes.disconnected()
            losses.disconnected(now: Self.now).forEach(tell)
            lookTimer?.stop()
            calls.removeAll { if case .endPass = $0 { true } else { false } }
        case .published: break
        }
        onEvent(event)
    }

    private func take(_ message: IncomingMessage) {
        if message.isRetained { passes.heardKept(now: Self.now) }
        guard let topic = Topic(message.topic) else { return }
        if topic.host == settings.own { hasHeard.own = true }
        switch topic {
        case .presence(let host) where host == settings.own: publisher?.heardPresence(message.payload)
        case .claim(let host) where host == settings.own: publisher?.heardClaim(message.payload)
        case .server(let host, let name) where host == settings.own: publisher?.heardServer(name, message.payload)
        default: follow(message, topic)
        }
    }

    private func follow(_ message: IncomingMessage, _ topic: Topic) {
        switch reader.read(message, topic, now: Self.now, wall: Timestamp.now) {
        case .report(let report):
            hasHeard.others = true
            if let report = losses.take(report, now: Self.now, returnsEnd: returnsEnd) {
                tell(report)
            } else {
                timer?.schedule(after: Self.tick.active)
            }
        case .ignored: break
        case .refused(let host, let reason): limiter.log("\(host): \(reason); the message is dropped", about: host)
        case .limited(let host):
            limiter.log("\(host) sends too many messages; some are dropped, and read again later", about: host)
        }
    }

    private func tell(_ report: FollowReport) {
        calls.append(.report(report))
        makeCalls()
    }

    private func ticks() {
        let now = Self.now
        tellPresence()
        losses.takeDue(now: now).forEach(tell)
        readAgain(reader.takeRecovered(now: now))
        carryOut(passes.tick(now: now, isBehind: !calls.isEmpty || unanswered > 0 || reader.hasLimited))
        let mustLookSoon = passes.isActive || reader.hasLimited || presence.isWaiting || !losses.isEmpty
        timer?.schedule(after: mustLookSoon ? Self.tick.active : Self.tick.idle)
    }

    /// Lets the broker send once more what it keeps of these hosts.
    private func readAgain(_ hosts: [String]) {
        connection?.unsubscribe(repeated)
        let hosts = hosts.map { Topic.filter(host: $0) }
        repeated = hosts.filter { !filters.contains($0) }
        connection?.subscribe(hosts)
    }

    private func beginPasses() {
        carryOut([passes.begin(now: Self.now, returnsEnd: returnsEnd)])
        timer?.schedule(after: Self.tick.active)
    }

    /// Tells the daemon, if it is due, whether there is a connection to a broker.
    private func tellPresence() {
        guard !settings.follow.isEmpty, daemon.client != nil, let host = ServerName(settings.own),
            let presence = presence.take(now: Self.now, wall: Timestamp.now)
        else { return }
        tell(.host(host, presence, clockDifference: 0))
    }

    private func carryOut(_ actions: [PassMachine.Action]) {
        for action in actions {
            switch action {
            case .subscribe: connection?.subscribe(filters)
            case .giveUp:
                if let session = connection?.session { connection?.reconnect(because: .silent(session.broker)) }
            case .endPass where settings.follow.isEmpty: sayWhatIsMissing()
            case .endPass:
                sayWhatIsMissing()
                calls.append(.endPass)
                makeCalls()
            }
        }
    }

    /// Some brokers, such as mosquitto, grant subscriptions to users who may read nothing.
    private func sayWhatIsMissing() {
        if publisher?.publishedCount != nil, !hasHeard.own {
            limiter.log(
                """
                the broker shows nothing of statusd/1/\(settings.own); it must permit this host to write and to read \
                there, see statusd-mqtt(8)
                """, about: "own")
        }
        if !settings.follow.isEmpty, !hasHeard.others {
            limiter.log(
                """
                the broker shows no host that is followed: none has published, or it does not permit this host to \
                read, see statusd-mqtt(8)
                """, about: "others")
        }
        hasHeard = (true, true)
    }

    // MARK: The daemon

    /// Makes calls while the daemon keeps up, and reads no more from the broker while it does not.
    private func makeCalls() {
        guard let client = daemon.client else {
            // All is heard again when it is back.
            calls.removeAll()
            connection?.pause(false)
            return
        }
        while unanswered < Self.window, let call = calls.popFirst() {
            unanswered += 1
            // Unstructured: a call that is cancelled would be made nevertheless. The number is limited.
            Task { [self] in
                await make(call, client)
                unanswered -= 1
                makeCalls()
            }
        }
        connection?.pause(!calls.isEmpty)
    }

    private func make(_ call: Call, _ client: MonitorClient) async {
        switch call {
        case .report(let report):
            guard let error = try? await client.send(report) else { return }
            note(error, about: report)
        case .endPass:
            guard let removed = try? await client.endReport().removed, !removed.isEmpty else { return }
            let servers = removed.count == 1 ? "server" : "servers"
            logger.info("no longer at the broker: \(removed.count) \(servers) of other hosts")
        }
    }

    private func note(_ error: MonitorError?, about report: FollowReport) {
        guard let error else { return }
        let host = report.host
        switch error {
        case .otherMachine:
            limiter.log(
                "two machines publish as \(host) at the broker; statusd takes only the first", about: host.rawValue,
                level: .error)
        case .reportRefused(let reason): limiter.log("statusd refuses a report: \(reason)", about: host.rawValue)
        case .limitReached(let limit, let value):
            limiter.log(
                "statusd has no room for more servers; raise “\(limit)” (\(value)) in “limits”", about: "limit")
        default: limiter.log("statusd refuses the report of \(host): \(error)", about: "daemon", level: .error)
        }
    }
}
