// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import ServiceLifecycle
import SystemdClient

/// Runs `body` until the daemon shuts down, and then cancels it.
struct CancellableService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await cancelWhenGracefulShutdown { try await body() } }
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
