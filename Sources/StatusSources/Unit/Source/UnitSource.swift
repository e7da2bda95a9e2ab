// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
public import NotificationStreams
public import SourceKinds
public import StatusModel
public import StatusMonitor
public import SystemdClient

/// `unit: nginx.service`: follows a unit of the system's service manager.
///
/// Its states become level and text. While the bus or the manager is away the server is failed, for that reason.
@EventLoop
public final class UnitSource {
    /// Which unit, and what counts.
    public struct Settings: Sendable, Equatable {
        /// The unit's full name.
        public var unit: String
        /// How long a unit may run that runs to its end; nil: as long as it likes.
        public var runtime: Duration?
        /// When a state counts, and how long the service manager has to answer when somebody asks.
        public var schedule: CheckSchedule

        /// Settings with what belongs to them.
        public init(unit: String, runtime: Duration?, schedule: CheckSchedule) {
            self.unit = unit
            self.runtime = runtime
            self.schedule = schedule
        }
    }

    private let server: ServerName
    private let settings: Settings
    private let monitor: StatusMonitor
    private var judge: UnitJudge
    private var properties: UnitProperties?
    /// Whether a reason is shown for which it could not be looked at, or followed, and nothing has been said since.
    private var hasReason = false
    /// When it is known what its state means, if that is a matter of moments.
    private var settlesAt: Duration?
    private var subscription: UnitSubscription?
    private lazy var timer = try? TimerSource { [weak self] in self?.judgeProperties() }
    private lazy var load = ServerLoad(of: server, monitor: monitor) { [weak self] in try await self?.read() }

    /// Follows a unit from now on.
    ///
    /// - Parameters:
    ///   - server: whose status it is.
    ///   - settings: which unit, and what counts.
    ///   - predecessor: the source whose place it takes, which has been closed: what it knew of the same unit still holds.
    ///   - shown: the level that is shown already; nil where that says nothing of this unit.
    ///   - bus: the connection to the service manager.
    ///   - monitor: where statuses are posted.
    public init(
        server: ServerName, settings: Settings, predecessor: UnitSource? = nil, shown: Level?, bus: UnitBus,
        monitor: StatusMonitor
    ) {
        self.server = server
        self.settings = settings
        self.monitor = monitor
        hasReason = (try? monitor.state(of: server))?.phase == .failed
        let former = predecessor.flatMap { $0.settings.unit == settings.unit ? $0 : nil }
        judge =
            former?.judge
            ?? UnitJudge(
                of: settings.unit, runtime: settings.runtime, schedule: settings.schedule, shown: shown)
        if former?.settings != settings || shown == nil {
            judge.change(runtime: settings.runtime, schedule: settings.schedule, shown: shown)
        }
        subscription = bus.follow(settings.unit) { [weak self] in self?.take($0) }
    }

    private func read() async throws {
        guard let subscription else { return }
        await subscription.read(within: settings.schedule.timeout)
        guard let settlesAt else { return }
        try await EventLoop.sleep(for: settlesAt - Self.now)
        judgeProperties()
    }

    /// Shows why the unit cannot be looked at; what was known of it says nothing more.
    private func fail(_ reason: String) {
        properties = nil
        hasReason = true
        timer?.stop()
        // A server that was removed meanwhile has nobody to tell, here and below.
        try? monitor.fail(server, reason)
    }

    private func take(_ observation: UnitObservation) {
        switch observation {
        case .unreachable(let reason): fail(VisibleText.escape(reason))
        case .unanswered: fail("the service manager did not answer within \(TimeSpan.text(settings.schedule.timeout))")
        case .properties(var properties):
            // What this process says of itself is what it shows: shown once more, it would grow with each turn.
            if properties.mainProcess == getpid() { properties.statusText = nil }
            self.properties = properties
            judgeProperties()
        }
    }

    private func judgeProperties() {
        guard let properties else { return }
        let now = Self.now
        let (verdict, again) = judge.judge(properties, at: now)
        settlesAt = verdict == .wait ? again.flatMap { $0 <= now + UnitJudge.passingTime ? $0 : nil } : nil
        switch verdict {
        case .show(let status): _ = try? monitor.post(status.visibleText, level: status.level, to: server)
        case .hold(let status, let count, let needed):
            let remark = Hysteresis.remark(status.visibleText, status.level, count, of: needed)
            try? monitor.remark(remark, about: server)
        case .wait where settlesAt != nil:
            // What has become of it is known in a moment; until then the reason why that was not known stays.
            break
        case .wait:
            // What was shown before holds, and is followed again.
            guard hasReason else { break }
            try? monitor.remark(judge.remark(on: properties).visibleText.rawValue, about: server)
        }
        if settlesAt == nil { hasReason = false }
        if let again { timer?.schedule(after: again - now) } else { timer?.stop() }
    }

    /// The time by the clock of a unit's own times.
    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension UnitSource: Source {
    public var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.load.refresh() } }

    public func close() {
        subscription?.cancel()
        subscription = nil
        timer?.cancel()
        load.close()
    }
}

extension UnitStatus {
    fileprivate var visibleText: StatusText { StatusText(fitting: text) ?? StatusText(of: level) }
}
