// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import ServiceLifecycle
import SystemdServiceLifecycle

/// A program for a unit with `Type=notify-reload` and `WatchdogSec=`: it reloads on SIGHUP and stops on SIGTERM.
@main
struct Main {
    static func main() {
        SignalSource.block([SIGHUP, SIGTERM])
        EventLoop.runProcess { await run() }
    }

    @EventLoop
    private static func run() async -> Int32 {
        let logger = Logger(label: "example")
        // The watchdog's probe is a round trip through the event loop.
        let systemd = SystemdService(logger: logger, isAlive: { await EventLoop.run { true } })
        let group = ServiceGroup(services: [systemd], logger: logger)
        do {
            let reload = try SignalSource(SIGHUP) { _ in
                Task { await systemd.reload { logger.info("reloaded") } }
            }
            let stop = try SignalSource(SIGTERM) { _ in
                Task { await group.triggerGracefulShutdown() }
            }
            try await group.run()
            withExtendedLifetime((reload, stop)) {}
            return 0
        } catch {
            logger.error("\(error)")
            return 1
        }
    }
}
