// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import NotificationStreams
public import SourceKinds
import StatusModel
import StatusMonitor
import SystemdClient

/// `units: failed`, `units: php*.service`: follows the units of the system's service manager that match patterns.
///
/// One subscription tells which units match, or which of these have failed, and one for each of them tells its state.
/// While the bus or the service manager does not answer, the server is failed, with that reason.
@EventLoop
final class UnitsSource {
    private let server: ServerName
    private let schedule: CheckSchedule
    private let monitor: StatusMonitor
    private let bus: UnitBus
    private var judge: UnitsJudge
    private var query: UnitSubscription?
    private var units: [String: UnitSubscription] = [:]
    /// Whether it is known which units match.
    private var isListed = false
    /// When the state of each unit will be known, if that is soon.
    private var settlesAt: Duration?
    private var isJudging = false
    /// The status or message that the server shows; nil if that must be posted again.
    private var shown: UnitJudge.Verdict?
    private lazy var timer = try? TimerSource { [weak self] in self?.judgeUnits() }
    private lazy var loader = StatusLoader(of: server, monitor: monitor) { [weak self] in try await self?.read() }

    /// Follows the units from now on; keeps a predecessor's knowledge if the settings are the same.
    init(_ settings: UnitsSettings, _ order: SourceOrder) {
        (server, schedule, monitor) = (order.server, order.schedule, order.environment.monitor)
        bus = order.environment.shared(UnitBus.self)
        let former = (order.predecessor as? UnitsSource)?.judge
        if let former, former.settings == settings {
            judge = former
            judge.change(runtime: order.runtime, schedule: schedule, shown: order.shown)
        } else {
            judge = UnitsJudge(
                settings, runtime: order.runtime, schedule: schedule, shown: order.shown,
                signedStreak: order.restored?.memory.streak ?? 0)
        }
        let states = settings.state == .failed ? ["failed"] : []
        // Without any pattern, the answer only tells whether the service manager answers.
        let patterns = settings.patterns.filter { !settings.names.contains($0) }
        let query = UnitQuery(patterns: patterns.isEmpty ? settings.patterns : patterns, states: states)
        self.query = bus.follow(query) { [weak self] in self?.take($0) }
    }

    private func take(_ report: UnitReport) {
        switch report {
        case .names(let listed):
            let settings = judge.settings
            let matches = settings.names.count == settings.patterns.count ? [] : listed
            let names = settings.names.isEmpty ? matches : Set(settings.names + matches).sorted()
            let most = UnitsJudge.mostUnits
            if settings.state == .active, names.count > most {
                return fail("\(names.count) units match, but at most \(most) are followed; use a narrower pattern")
            }
            isListed = true
            judge.match(names)
            followUnits()
            judgeSoon()
        case .observation(.unreachable(let reason)): fail(VisibleText.escape(reason))
        case .observation(.unanswered):
            fail("the service manager did not answer within \(TimeSpan.text(schedule.timeout))")
        case .observation(.properties): break
        }
    }

    /// Shows why the units cannot be followed.
    private func fail(_ reason: String) {
        (isListed, shown) = (false, nil)
        timer?.stop()
        // The call fails if the server was removed meanwhile, here and below.
        try? monitor.fail(server, reason)
    }

    private func followUnits() {
        let names = Set(judge.names)
        for name in units.keys where !names.contains(name) { units.removeValue(forKey: name)?.cancel() }
        for name in names where units[name] == nil {
            units[name] = bus.follow(name) { [weak self] observation in
                self?.judge.know(name, observation)
                self?.judgeSoon()
            }
        }
    }

    private func read() async throws {
        await query?.read(within: schedule.timeout)
        shown = nil
        if isListed {
            for unit in units.values { await unit.read(within: schedule.timeout) }
        }
        judgeUnits()
        guard let settlesAt else { return }
        try await EventLoop.sleep(for: settlesAt - Self.now)
        judgeUnits()
    }

    /// Judges the units at the end of the turn, because several of them may change in it.
    private func judgeSoon() {
        guard !isJudging else { return }
        isJudging = true
        EventLoop.atEndOfTurn { [weak self] in
            self?.isJudging = false
            self?.judgeUnits()
        }
    }

    private func judgeUnits() {
        guard isListed, !loader.isClosed else { return }
        let now = Self.now
        let (verdict, again, settles) = judge.judge(at: now, isFirst: shown == nil)
        settlesAt = settles
        if let again { timer?.schedule(after: again - now) } else { timer?.stop() }
        guard verdict != .wait, verdict != shown else { return }
        shown = verdict
        switch verdict {
        case .show(let status):
            let text = StatusText(fitting: status.text) ?? StatusText(of: status.level)
            _ = try? monitor.post(text, level: status.level, to: server)
        case .hold(let status, let count, let needed):
            let text = StatusText(fitting: status.text) ?? StatusText(of: status.level)
            try? monitor.setMessage(Hysteresis.message(text, status.level, count, of: needed), of: server)
        case .wait: break
        }
    }

    /// The current time of the clock that a unit's properties use.
    private static var now: Duration { .nanoseconds(Int64(nanoseconds(of: CLOCK_MONOTONIC))) }
}

extension UnitsSource: Source {
    func note(in memory: inout SourceMemory) { memory.streak = judge.signedStreak }

    var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.loader.refresh() } }

    func close() {
        query?.cancel()
        query = nil
        for unit in units.values { unit.cancel() }
        units = [:]
        timer?.cancel()
        loader.close()
    }
}

extension UnitsSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? { UnitsSource(self, order) }
}
