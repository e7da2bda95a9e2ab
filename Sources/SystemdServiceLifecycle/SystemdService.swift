// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle

public import Logging
public import ServiceLifecycle
import Synchronization
public import SystemdClient

/// Tells systemd when a program is up, reloads, stops, and whether it makes progress (sd_notify(3)).
///
/// Put it last in its group: a group stops its services from the last to the first, and systemd should know at
/// once.
///
/// ```swift
/// let systemd = SystemdService(logger: logger, isAlive: { await server.answers() }) {
///     try await server.listening()
/// }
/// let group = ServiceGroup(services: [server, systemd], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// Without systemd (`NOTIFY_SOCKET` unset) it sends nothing; `waitUntilUp` still runs.
public final class SystemdService: Service {
    private let logger: Logger
    private let watchdogInterval: Duration?
    private let isAlive: @Sendable () async -> Bool
    private let waitUntilUp: @Sendable () async throws -> Void
    private let phase = Mutex(ServicePhase())

    /// Creates the service without notifying systemd.
    ///
    /// - Parameters:
    ///   - logger: reports a failed probe.
    ///   - watchdogInterval: the longest time between two keep-alives that systemd accepts; nil if it expects none.
    ///   - isAlive: the probe before each keep-alive. If it returns false or does not return, no keep-alive is
    ///     sent. After `WatchdogSec=`, systemd ends the program, and restarts it if `Restart=` is `on-failure`,
    ///     `on-watchdog` or `always`.
    ///   - waitUntilUp: returns when the program is up; an error it throws ends the group.
    public init(
        logger: Logger, watchdogInterval: Duration? = ServiceManager.watchdogInterval,
        isAlive: @escaping @Sendable () async -> Bool = { true },
        waitUntilUp: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.logger = logger
        self.watchdogInterval = watchdogInterval
        self.isAlive = isAlive
        self.waitUntilUp = waitUntilUp
    }

    /// Tells systemd that the program is up, then sends keep-alives until it is shut down.
    ///
    /// - Throws: the errors of `waitUntilUp`.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await cancelWhenGracefulShutdown {
                try await self.waitUntilUp()
                if !Task.isCancelled { self.tell { $0.started() } }
                if let interval = self.watchdogInterval {
                    await ServiceManager.keepAlive(within: interval, logger: self.logger, while: self.isAlive)
                } else {
                    try? await gracefulShutdown()
                }
            }
        } onGracefulShutdown: {
            self.tell { $0.stopped() }
        }
    }

    /// Runs `body` as a reload, and tells systemd when it begins and ends, even if it fails.
    ///
    /// Overlapping reloads are one reload for systemd, from the start of the first to the end of the last. Systemd
    /// is not told of reloads before the program is up or while it stops. With `Type=notify-reload`, the program
    /// itself handles SIGHUP and calls this.
    public func reload<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        tell { $0.reloadBegan() }
        defer { tell { $0.reloadEnded() } }
        return try await body()
    }

    private func tell(_ change: (inout ServicePhase) -> ServiceManager.Notification?) {
        // Under the lock, because the order matters. notify(_:) only queues the message.
        phase.withLock { if let notification = change(&$0) { ServiceManager.notify(notification) } }
    }
}

#endif
