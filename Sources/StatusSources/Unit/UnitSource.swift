// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel
public import StatusMonitor
public import Systemd

/// `unit: nginx.service`: follows a unit of the system's service manager.
///
/// Its states become level and text. While the bus or the manager is away the server is failed, for that reason.
@EventLoop
public final class UnitSource {
    private let server: ServerName
    private let unit: String
    private let timeout: Duration
    private let monitor: StatusMonitor
    private var subscription: UnitSubscription?
    private lazy var load = ServerLoad(of: server, monitor: monitor) { [weak self] in try await self?.read() }

    /// Follows a unit from now on.
    ///
    /// - Parameters:
    ///   - server: whose status it is.
    ///   - unit: the unit's full name.
    ///   - timeout: how long the service manager has to answer when somebody asks.
    ///   - bus: the connection to the service manager.
    ///   - monitor: where statuses are posted.
    public init(server: ServerName, unit: String, timeout: Duration, bus: UnitBus, monitor: StatusMonitor) {
        self.server = server
        self.unit = unit
        self.timeout = timeout
        self.monitor = monitor
        subscription = bus.follow(unit) { [weak self] in self?.take($0) }
    }

    private func read() async throws {
        guard let subscription else { return }
        do {
            try await withTimeLimit(timeout) { await subscription.read() }
        } catch is TimeLimitExceeded {
            try? monitor.fail(server, "the service manager did not answer within \(TimeSpan.text(timeout))")
        }
    }

    private func take(_ observation: UnitObservation) {
        // A server that was removed meanwhile has nobody to tell.
        switch observation {
        case .unreachable(let reason): try? monitor.fail(server, VisibleText.escape(reason))
        case .properties(let properties):
            let status = UnitStatus(properties, of: unit)
            let text = StatusText(fitting: status.text) ?? StatusText(of: status.level)
            _ = try? monitor.post(text, level: status.level, to: server)
        }
    }
}

extension UnitSource: Source {
    public var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.load.refresh() } }

    public func close() {
        subscription?.cancel()
        subscription = nil
        load.close()
    }
}
