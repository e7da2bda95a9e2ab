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
    private let bus: UnitBus
    private var judge: UnitJudge
    private var properties: UnitProperties?
    /// Whether the server shows why the unit could not be read or followed, and nothing newer.
    private var hasReason = false
    /// When the unit's state will be known, if that is soon.
    private var settlesAt: Duration?
    /// The failure that the server showed before a restart; nil once something newer is known.
    private var restoredFailure: UnitStatus?
    private var subscription: UnitSubscription?
    /// The timers that start it, or the units that it starts, as a timer does.
    private var partners: [String: Partner] = [:]
    private lazy var timer = try? TimerSource { [weak self] in self?.judgeProperties() }
    private lazy var loader = StatusLoader(of: server, monitor: monitor) { [weak self] in try await self?.read() }

    private struct Partner {
        let subscription: UnitSubscription
        /// What is known about it; nil before the first answer.
        var observation: UnitObservation?

        var properties: UnitProperties? {
            if case .properties(let properties) = observation { properties } else { nil }
        }
    }

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
        if order.restored?.memory.hasFailed == true, let status = (try? monitor.state(of: server))?.status {
            restoredFailure = UnitStatus(status.level, status.text.rawValue)
        }
        bus = order.environment.shared(UnitBus.self)
        subscription = bus.follow(unit) { [weak self] in self?.take($0) }
    }

    private func read() async throws {
        guard let subscription else { return }
        await subscription.read(within: schedule.timeout)
        if properties != nil {
            for partner in partners.values { await partner.subscription.read(within: schedule.timeout) }
        }
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
            followPartners(of: properties)
            judgeProperties()
        }
    }

    private func followPartners(of properties: UnitProperties) {
        var names = Set(properties.triggers + properties.triggeredBy.filter(Self.isTimer))
        // The service manager forgets a timer that was stopped, and that it starts this unit.
        if properties.serviceType == "oneshot" { names.insert("\(unit.dropLast(".service".count)).timer") }
        names.formUnion(timers.keys)
        for name in partners.keys where !names.contains(name) {
            partners.removeValue(forKey: name)?.subscription.cancel()
        }
        for name in names where partners[name] == nil {
            let subscription = bus.follow(name) { [weak self] in
                self?.partners[name]?.observation = $0
                self?.judgeProperties()
            }
            partners[name] = Partner(subscription: subscription)
        }
    }

    private static func isTimer(_ name: String) -> Bool { name.hasSuffix(".timer") }

    /// The timers that start the unit, or would if they ran or were not masked.
    private var timers: [String: UnitProperties] {
        partners.filter { Self.isTimer($0.key) }.compactMapValues(\.properties).filter { name, timer in
            properties?.triggeredBy.contains(name) == true || timer.triggers.contains(unit)
                || timer.loadState == "masked"
        }
    }

    /// The unit's properties, with what its timers know of its runs; nil before all of that is known.
    private var completeProperties: UnitProperties? {
        guard var unit = properties, !partners.values.contains(where: { $0.observation == nil }) else { return nil }
        let timers = timers
        if !timers.isEmpty {
            unit.triggeredBy += timers.keys
            // The run has ended, and the timer will say in a moment when the next one is.
            if unit.activeState == "inactive", timers.values.contains(where: { $0.subState == "running" }) {
                return nil
            }
            unit.lastRun = unit.lastRun ?? timers.values.compactMap(\.lastRun).max()
            unit.nextRun = timers.values.compactMap(\.nextRun).min()
        }
        return unit
    }

    /// The text of a status, with what is wrong with the units that this one starts, such as the service of a timer.
    private func text(_ status: UnitStatus) -> StatusText {
        var text = status.text
        if let properties, properties.isActive, properties.subState != "running" {
            for name in properties.triggers {
                guard let unit = partners[name]?.properties else { continue }
                let problem: String
                switch (unit.activeState, unit.loadState) {
                case ("inactive", "loaded"), ("inactive", "merged"): continue
                case ("inactive", "not-found"): problem = "not found"
                case ("inactive", _), ("failed", _): problem = UnitStatus(unit, of: name).text
                default: continue
                }
                text += "; \(name) \(problem)"
            }
        }
        return StatusText(fitting: text) ?? StatusText(of: status.level)
    }

    private func judgeProperties() {
        guard let properties = completeProperties else { return }
        if let failure = restoredFailure.take() {
            judge.keep(failure)
            // The service manager has forgotten a run, or why there was none.
            if properties.isWithoutRun {
                restoredFailure = failure
                hasReason = false
                _ = try? monitor.post(text(failure), level: failure.level, to: server)
                return
            }
        }
        let now = Self.now
        let (verdict, again) = judge.judge(properties, at: now)
        settlesAt = verdict == .wait ? again.flatMap { $0 <= now + UnitJudge.passingTime ? $0 : nil } : nil
        switch verdict {
        case .show(let status): _ = try? monitor.post(text(status), level: status.level, to: server)
        case .hold(let status, let count, let needed):
            let message = Hysteresis.message(text(status), status.level, count, of: needed)
            try? monitor.setMessage(message, of: server)
        case .wait where settlesAt != nil:
            // The state will be known soon; until then, the reason stays.
            break
        case .wait:
            // The status that was shown before still holds.
            guard hasReason else { break }
            try? monitor.setMessage(text(judge.pendingStatus(of: properties)).rawValue, of: server)
        }
        if settlesAt == nil { hasReason = false }
        if let again { timer?.schedule(after: again - now) } else { timer?.stop() }
    }

    /// The current time of the clock that a unit's properties use.
    private static var now: Duration { .nanoseconds(Int64(nanoseconds(of: CLOCK_MONOTONIC))) }
}

extension UnitSource: Source {
    func note(in memory: inout SourceMemory) {
        (memory.streak, memory.hasFailed) = (judge.signedStreak, judge.hasFailed)
    }

    var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.loader.refresh() } }

    var checkRun: CheckRun? { CheckRun(unit: unit) }

    func close() {
        subscription?.cancel()
        subscription = nil
        for partner in partners.values { partner.subscription.cancel() }
        partners = [:]
        timer?.cancel()
        loader.close()
    }
}

extension UnitSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? { UnitSource(unit, order) }
}

extension UnitBus: SharedResource {
    public convenience init(in environment: SourceEnvironment) { self.init(logger: environment.logger) }
}
