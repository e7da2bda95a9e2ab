// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import SystemdClient

/// The parts between the daemon and a broker: two connections to the broker, and those to the daemon.
@EventLoop
final class Bridge {
    private static let pause = Duration.milliseconds(300)

    private let settings: BridgeSettings
    private let daemon: DaemonLink
    private let logger: Logger
    private let report: BrokerReport
    private var publisher: Publisher?
    private var subscriber: Subscriber?
    private var status = ""
    /// Whether the service manager is told soon, because something may have changed.
    private var mustTell = false
    private var timer: TimerSource?

    init(_ settings: BridgeSettings, daemon: DaemonLink, logger: Logger) {
        (self.settings, self.daemon, self.logger) = (settings, daemon, logger)
        report = BrokerReport(logger, settings.mqtt.publish.isEmpty ? [.subscribe] : [.subscribe, .publish])
    }

    /// Starts the connections to the broker; the daemon has answered.
    func start() throws(IOError) {
        let mqtt = settings.mqtt
        timer = try TimerSource(accuracy: .milliseconds(100)) { [weak self] in self?.tellManager() }
        if !mqtt.publish.isEmpty {
            publisher = try Publisher(
                Publisher.Settings(
                    host: settings.host, machine: settings.machine, patterns: mqtt.publish,
                    connection: settings.connection("publish"),
                    discovery: mqtt.discovery == .homeassistant
                        ? Discovery(machine: settings.machine, version: MonitorVersion.current) : nil),
                daemon: daemon, epochs: EpochCounter(directory: Self.stateDirectory), logger: logger
            ) { [weak self] in self?.take($0, of: .publish) }
        }
        subscriber = try Subscriber(
            Subscriber.Settings(
                own: settings.host, machine: settings.machine, follow: mqtt.follow,
                connection: settings.connection("follow")),
            daemon: daemon, publisher: publisher, logger: logger
        ) { [weak self] in self?.take($0, of: .subscribe) }
        tellManager()
    }

    /// Ends the connections; the last message says that this host has stopped.
    func stop() async {
        timer?.cancel()
        async let subscriberHasStopped: Void? = subscriber?.stop()
        await publisher?.stop()
        _ = await subscriberHasStopped
        (publisher, subscriber) = (nil, nil)
    }

    /// The daemon answers again, or is away.
    func daemonChanged() {
        if daemon.client != nil { subscriber?.daemonIsBack() }
        tellManager()
    }

    private static var stateDirectory: String? {
        ProcessEnvironment.current["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    }

    private func take(_ event: MQTTEvent, of purpose: BrokerReport.Purpose) {
        report.take(event, of: purpose)
        guard !mustTell else { return }
        mustTell = true
        timer?.schedule(after: Self.pause)
    }

    private func tellManager() {
        mustTell = false
        let follows = !settings.mqtt.follow.isEmpty
        let sentence = report.sentence(
            published: publisher?.publishedCount, followed: follows ? subscriber?.readyHosts : nil,
            isDaemonPresent: daemon.client != nil)
        guard sentence != status else { return }
        status = sentence
        ServiceManager.notify(.status(sentence))
    }
}
