// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusConfiguration
import StatusInterface
import SystemdClient

/// Runs a ``Bridge`` while the daemon's configuration has a section `mqtt`, and a new one when that has changed.
@EventLoop
final class Carrier {
    private let daemon: DaemonLink
    /// The settings of `--config`; nil to use those of the daemon.
    private let fixed: BridgeSettings?
    private let logger: Logger
    private var bridge: Bridge?
    private var section: MonitorInterface.MQTT?
    private var isReady = false
    private var isAway = false

    init(daemon: DaemonLink, fixed: BridgeSettings?, logger: Logger) {
        (self.daemon, self.fixed, self.logger) = (daemon, fixed, logger)
    }

    /// Runs until the task is cancelled.
    ///
    /// - Throws: a ``BridgeSettings/Failure`` for settings that cannot be used.
    func run() async throws {
        try await daemon.run { section in
            isAway = false
            try await apply(section)
            if isReady { return }
            isReady = true
            ServiceManager.notify(.ready)
        } away: { reason in
            if isAway { return }
            isAway = true
            // The interface wraps why a connection failed.
            let sentence = if case MonitorError.connection(let error) = reason { "\(error)" } else { "\(reason)" }
            logger.warning("statusd is away: \(sentence)")
            ServiceManager.notify(.status("waiting for statusd: \(sentence)"))
            bridge?.daemonChanged()
        }
    }

    /// Ends the connections; the broker hears that this host has stopped.
    func stop() async { await bridge?.stop() }

    private func apply(_ section: MonitorInterface.MQTT?) async throws {
        if let bridge, fixed != nil || self.section == section {
            logger.info("statusd answers again")
            return bridge.daemonChanged()
        }
        await bridge?.stop()
        (bridge, self.section) = (nil, section)
        guard let settings = try fixed ?? readSettings(section) else {
            logger.info("the configuration of statusd has no section “mqtt”: nothing is published or followed")
            return ServiceManager.notify(.status("the configuration of statusd has no section “mqtt”"))
        }
        let bridge = Bridge(settings, daemon: daemon, logger: logger)
        self.bridge = bridge
        do throws(IOError) { try bridge.start() } catch {
            throw BridgeSettings.Failure(description: error.message, isConfiguration: false)
        }
    }

    private func readSettings(_ section: MonitorInterface.MQTT?) throws(BridgeSettings.Failure) -> BridgeSettings? {
        guard let section else { return nil }
        guard let settings = MQTTSettings(section) else {
            throw BridgeSettings.Failure(
                description: "cannot read what statusd says of the section “mqtt”; are both of the same version?")
        }
        return try BridgeSettings(settings)
    }
}
