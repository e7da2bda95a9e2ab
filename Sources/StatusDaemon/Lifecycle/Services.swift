// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import ServiceLifecycle
import SystemdClient

/// Runs `body` until the daemon shuts down, and then cancels it.
struct CancellableService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await cancelWhenGracefulShutdown { try await body() } }
}

/// Sends keep-alives to the service manager's watchdog while probes come through.
struct WatchdogService: Service {
    let interval: Duration
    let probe: WatchdogProbe
    let logger: Logger

    func run() async throws { await cancelWhenGracefulShutdown { await keepAlive() } }

    private func keepAlive() async {
        while !Task.isCancelled {
            if await probe.travel() {
                ServiceManager.notify(.watchdog)
            } else if !Task.isCancelled {
                logger.warning("watchdog probe failed; no keep-alive is sent")
            }
            // Half the time allowed, as sd_watchdog_enabled(3) advises.
            try? await EventLoop.sleep(for: interval / 2)
        }
    }
}

/// Turns signals into actions: SIGHUP into a reload, SIGTERM and SIGINT into a shutdown.
struct SignalService: Service {
    let reloader: Reloader
    let onTermination: @Sendable () async -> Void

    static let signals = [SIGHUP, SIGTERM, SIGINT]

    func run() async throws {
        let (received, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = try await EventLoop.run {
            try Self.signals.map { signal in try SignalSource(signal) { continuation.yield($0) } }
        }
        await cancelWhenGracefulShutdown {
            for await signal in received {
                if signal == SIGHUP { await reloader.request() } else { await onTermination() }
            }
        }
        await EventLoop.run { for source in sources { source.cancel() } }
    }
}
