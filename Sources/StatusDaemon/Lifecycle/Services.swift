// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import ServiceLifecycle
import StatusMonitor
import SystemdClient
import Varlink

/// Serves the control interface until the daemon goes down.
struct ControlService: Service {
    let service: VarlinkService

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await service.run() }
    }
}

/// Follows the selected server until the daemon goes down.
struct WatcherService: Service {
    let watcher: SelectionWatcher

    func run() async throws {
        await cancelWhenGracefulShutdown { await watcher.run() }
    }
}

/// Reloads the configuration when somebody asks for it, until the daemon goes down.
struct ReloadService: Service {
    let reloader: Reloader

    func run() async throws {
        await cancelWhenGracefulShutdown { await reloader.run() }
    }
}

/// Loads statuses as the schedules say until the daemon goes down.
struct SourceService: Service {
    let runner: SourceRunner
    /// Is called when the first loads have begun.
    let onStart: @EventLoop @Sendable () -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown { await runner.run(onStart: onStart) }
    }
}

/// Tells the service manager's watchdog that the daemon makes progress, as long as a probe comes through.
struct WatchdogService: Service {
    let interval: Duration
    let probe: WatchdogProbe
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await keepAlive() }
    }

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

/// Turns signals into what they ask for: SIGHUP into a reload, SIGTERM and SIGINT into an orderly end.
struct SignalService: Service {
    let reloader: Reloader
    let onTermination: @Sendable () async -> Void

    static let signals = [SIGHUP, SIGTERM, SIGINT]

    func run() async throws {
        let (received, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = try await EventLoop.run {
            try SignalSources(Self.signals.map { signal in try SignalSource(signal) { continuation.yield($0) } })
        }
        await cancelWhenGracefulShutdown {
            for await signal in received {
                if signal == SIGHUP { await reloader.request() } else { await onTermination() }
            }
        }
        await sources.cancel()
    }
}

/// Keeps signal sources on the loop.
@EventLoop
private final class SignalSources {
    private let sources: [SignalSource]
    init(_ sources: [SignalSource]) { self.sources = sources }
    func cancel() { for source in sources { source.cancel() } }
}
