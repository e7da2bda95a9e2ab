// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import NotificationStreams
public import SourceKinds
import StatusModel
import StatusMonitor
public import SystemdClient

/// `unit: nginx.service`: follows a unit of the system's service manager.
///
/// The states of the unit become levels and texts. While the bus or the service manager does not answer, the server is
/// failed, with that reason.
@EventLoop
final class UnitSource {
    private let server: ServerName
    private let unit: String
    private let schedule: CheckSchedule
    private let runtime: Duration?
    private let monitor: StatusMonitor
    private var judge: UnitJudge
    private var properties: UnitProperties?
    /// Whether the server shows why the unit could not be read or followed, and nothing newer.
    private var hasReason = false
    /// When the unit's state will be known, if that is soon.
    private var settlesAt: Duration?
    private var subscription: UnitSubscription?
    private lazy var timer = try? TimerSource { [weak self] in self?.judgeProperties() }
    private lazy var loader = StatusLoader(of: server, monitor: monitor) { [weak self] in try await self?.read() }

    /// Follows a unit from now on; keeps a predecessor's knowledge of the same unit.
    init(_ unit: String, _ order: SourceOrder) {
        self.unit = unit
        (server, schedule, runtime, monitor) = (
            order.server, order.schedule, order.runtime, order.environment.monitor
        )
        hasReason = (try? monitor.state(of: server))?.phase == .failed
        let former = (order.predecessor as? UnitSource).flatMap { $0.unit == unit ? $0 : nil }
        judge =
            former?.judge
            ?? UnitJudge(
                of: unit, runtime: runtime, schedule: schedule, shown: order.shown,
                signedStreak: order.restored?.memory.streak ?? 0)
        if former?.runtime != runtime || former?.schedule != schedule || order.shown == nil {
            judge.change(runtime: runtime, schedule: schedule, shown: order.shown)
        }
        let bus = order.environment.shared(UnitBus.self)
        subscription = bus.follow(unit) { [weak self] in self?.take($0) }
    }

    private func read() async throws {
        guard let subscription else { return }
        await subscription.read(within: schedule.timeout)
        guard let settlesAt else { return }
        try await EventLoop.sleep(for: settlesAt - Self.now)
        judgeProperties()
    }

    /// Shows why the unit cannot be read, and forgets its properties.
    private func fail(_ reason: String) {
        properties = nil
        hasReason = true
        timer?.stop()
        // The call fails if the server was removed meanwhile, here and below.
        try? monitor.fail(server, reason)
    }

    private func take(_ observation: UnitObservation) {
        switch observation {
        case .unreachable(let reason): fail(VisibleText.escape(reason))
        case .unanswered: fail("the service manager did not answer within \(TimeSpan.text(schedule.timeout))")
        case .properties(var properties):
            // The status text of this process contains the selected server's text; showing it again would make it
            // longer each time.
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
            let message = Hysteresis.message(status.visibleText, status.level, count, of: needed)
            try? monitor.setMessage(message, of: server)
        case .wait where settlesAt != nil:
            // The state will be known soon; until then, the reason stays.
            break
        case .wait:
            // The status that was shown before still holds.
            guard hasReason else { break }
            try? monitor.setMessage(judge.pendingStatus(of: properties).visibleText.rawValue, of: server)
        }
        if settlesAt == nil { hasReason = false }
        if let again { timer?.schedule(after: again - now) } else { timer?.stop() }
    }

    /// The current time of the clock that a unit's properties use.
    private static var now: Duration { .nanoseconds(Int64(nanoseconds(of: CLOCK_MONOTONIC))) }
}

extension UnitSource: Source {
    func note(in memory: inout SourceMemory) { memory.streak = judge.signedStreak }

    var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.loader.refresh() } }

    func close() {
        subscription?.cancel()
        subscription = nil
        timer?.cancel()
        loader.close()
    }
}

extension UnitStatus {
    fileprivate var visibleText: StatusText { StatusText(fitting: text) ?? StatusText(of: level) }
}

extension UnitSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? { UnitSource(unit, order) }
}

extension UnitBus: SharedResource {
    public convenience init(in environment: SourceEnvironment) { self.init(logger: environment.logger) }
}
