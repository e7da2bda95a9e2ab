// SPDX-License-Identifier: Apache-2.0

import Logging
import ServiceLifecycle
import SystemdServiceLifecycle
import UnixSignals

/// Reloads on SIGHUP.
struct Reloader: Service {
    let systemd: SystemdService
    let signals: UnixSignalsSequence
    let logger: Logger

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() {
            await systemd.reload { logger.info("reloaded") }
        }
    }
}

/// A program for a unit with `Type=notify-reload` and `WatchdogSec=`: it reloads on SIGHUP and stops on SIGTERM.
@main
struct Main {
    static func main() async throws {
        let logger = Logger(label: "example")
        let systemd = SystemdService(logger: logger)
        // Trapped before systemd knows that the program is up, because SIGHUP would end it otherwise.
        let reloader = Reloader(
            systemd: systemd, signals: await UnixSignalsSequence(trapping: .sighup), logger: logger)
        let group = ServiceGroup(
            services: [reloader, systemd], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
    }
}
