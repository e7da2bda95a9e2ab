// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusAlerts
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import StatusWorkers

/// Tells the receivers of alerts what an ``AlertMachine`` says is due, and keeps what they were told.
@EventLoop
final class AlertDispatcher: EndOfTurnWork {
    private let registry: ServerRegistry
    private let logger: Logger
    private let programs: ProgramRunner
    private let clock: @Sendable () -> Moment
    private var machine: AlertMachine
    private var reports: [String: ReceiverReport] = [:]
    private var timer: TimerSource?
    private var isScheduled = false
    /// The last delivery to each receiver.
    private var deliveries: [String: Task<Void, Never>] = [:]
    /// When the machine was last asked what is due.
    private var advancedAt = Duration.zero
    /// The numbers that were counted last, and when they are counted again.
    private var counted: (counts: [MonitorInterface.ReceiverCounts], next: Duration)?
    /// The number of deliveries that are running.
    private var running = 0
    /// Whether the machine knows the servers; without receivers, it knows none.
    private var hasServers = false
    /// Saves what changed; returns when it is saved, or cannot be.
    var save: @EventLoop @Sendable () async -> Void = {}
    /// Called when something changed that a restart must keep.
    var onUnsaved: () -> Void = {}

    /// - Parameters:
    ///   - told: what receivers were told in an earlier run, with times of this boot.
    ///   - executor: what runs their programs; nil for child processes.
    init(
        registry: ServerRegistry, told: [AlertKey: Told], executor: UnixAddress?, logger: Logger,
        clock: @escaping @Sendable () -> Moment = Moment.now
    ) throws {
        self.registry = registry
        self.logger = logger
        self.clock = clock
        programs = ProgramRunner(executor: executor, service: "statusd-alerts")
        machine = AlertMachine(told: told, at: clock().boot)
        timer = try TimerSource(clock: .boottime) { [weak self] in self?.turnEnds() }
    }

    private var configuration: Configuration { registry.configuration }

    /// Applies the receivers and rules of a new configuration, after the registry.
    func apply() {
        let now = clock()
        machine.configure(configuration.receivers.mapValues(\.settings))
        guard !machine.isIdle else { return hasServers = false }
        for state in registry.monitor.states {
            machine.set(rule(of: state), for: state.name, at: now.boot, wall: now.wall)
            if !hasServers { begin(with: state, at: now) }
        }
        hasServers = true
        schedule()
    }

    /// Waits until receivers have ended, for at most `limit`, and then ends them.
    func close(within limit: Duration) async {
        timer?.cancel()
        let end = clock().boot + limit
        while running > 0, clock().boot < end { try? await EventLoop.sleep(for: .milliseconds(20)) }
        await programs.close(within: .milliseconds(100))
    }

    /// Takes what has changed since it was saved.
    func takeUnsaved() -> [(AlertKey, Told?)] { machine.takeUnsaved() }

    /// Notes that something could not be saved.
    func keepUnsaved(_ keys: [AlertKey]) { machine.keepUnsaved(keys) }

    /// Notes that everything must be saved.
    func keepAllUnsaved() { machine.keepAllUnsaved() }

    // MARK: Servers

    private func rule(of state: ServerState) -> AlertRule {
        if let server = configuration.servers[state.name] { return server.alert }
        var rule = state.isOfOtherHost ? configuration.followedAlert : AlertRule()
        (rule.parent, rule.isConfigured) = (state.parent, state.isOfOtherHost)
        return rule
    }

    /// Takes the state of a server that the machine does not know yet, whose level may have lasted for some time.
    private func begin(with state: ServerState, at now: Moment) {
        let status = state.isCurrent ? state.status : nil
        let age = status.map { max(0, now.wall.milliseconds - $0.levelChangedAt.milliseconds) } ?? 0
        let since = (boot: now.boot - .milliseconds(age), wall: status?.levelChangedAt ?? now.wall)
        let (level, isSilenced) = (state.countedLevel, state.silence != nil)
        if state.isRestored {
            machine.restore(state.name, level: level, isDown: state.isDown, isSilenced: isSilenced, since: since)
        } else {
            machine.take(
                state.name, level: level, isDown: state.isDown, isSilenced: isSilenced, at: since.boot,
                wall: since.wall)
        }
    }

    private func take(_ change: RecordedChange) {
        guard hasServers, let snapshot = change.snapshot, change.kind != .selected else { return }
        let (state, now) = (snapshot.state, clock())
        if change.kind == .removed {
            machine.remove(state.name, at: now.boot)
        } else {
            // The parent of another host's server may change.
            if state.isOfOtherHost || !machine.hasServer(state.name) {
                machine.set(rule(of: state), for: state.name, at: now.boot, wall: now.wall)
            }
            if !take(state, at: now) { return }
        }
        schedule()
    }

    /// Takes a server's state; returns whether that may matter to a receiver.
    @discardableResult
    private func take(_ state: ServerState, at now: Moment) -> Bool {
        machine.take(
            state.name, level: state.countedLevel, isDown: state.isDown, isSilenced: state.silence != nil,
            at: now.boot, wall: state.status?.levelChangedAt ?? now.wall)
    }

    // MARK: Actions

    /// How often the machine is asked at most, because with thousands of open problems it takes some milliseconds.
    private static let pause = Duration.milliseconds(100)
    private static let countingPause = Duration.seconds(1)

    private func schedule() {
        guard !isScheduled, !machine.isIdle else { return }
        isScheduled = true
        let rest = advancedAt + Self.pause - clock().boot
        if rest > .zero { timer?.schedule(after: rest) } else { EventLoop.atEndOfTurn(self) }
    }

    func turnEnds() {
        isScheduled = false
        let now = clock().boot
        advancedAt = now
        let (actions, next) = machine.advance(to: now)
        for action in actions {
            switch action {
            case .recheck(let name):
                // Unstructured: the machine waits for its end.
                Task { await self.recheck(name) }
            case .deliver(let receiver, let number, let alerts):
                // That of a receiver that was removed meanwhile must end first, so that the newer one is told last.
                // Unstructured: only `close` waits for it, because a receiver that is ended may have been told.
                let former = deliveries[receiver]
                deliveries[receiver] = Task {
                    await former?.value
                    await self.deliver(alerts, number, to: receiver)
                }
            }
        }
        if let next { timer?.schedule(after: max(.zero, next - now)) } else { timer?.stop() }
        if machine.hasUnsaved { onUnsaved() }
    }

    private func recheck(_ name: ServerName) async {
        await registry.sources[name]?.recheck()
        machine.rechecked(name)
        schedule()
    }

    private func deliver(_ alerts: [Alert], _ number: Int, to name: String) async {
        // If statusd is killed during the delivery, it must know that there was one.
        await save()
        guard let receiver = configuration.receivers[name] else { return }
        running += 1
        defer { running -= 1 }
        let message = AlertMessage(receiver: name, entries: alerts.map { entry(of: $0) })
        let outcome = await run(message, receiver, name)
        note(outcome, of: name)
        machine.ended(name, number: number, outcome.end, at: clock().boot, jitter: .random(in: 0...1))
        schedule()
    }

    private func entry(of alert: Alert) -> AlertMessage.Entry {
        let state = try? registry.monitor.state(of: alert.server)
        return AlertMessage.Entry(alert: alert, description: state?.description, text: state?.alertText ?? "removed")
    }

    /// Runs a receiver's program.
    private func run(
        _ message: AlertMessage, _ receiver: ReceiverConfiguration, _ name: String
    ) async -> DeliveryOutcome {
        var call = PluginCall(receiver.command, timeout: receiver.timeout)
        call.input = message.json
        call.environment = message.environment
        call.credentials = receiver.credentials
        call.sparesOthers = true
        guard let key = ServerName(name) else { return DeliveryOutcome(.refused, "invalid name") }
        do throws(CheckFailure) {
            return DeliveryOutcome(try await programs.run(call, for: key), of: receiver)
        } catch {
            return DeliveryOutcome(.refused, error.description)
        }
    }

    // MARK: Reports

    /// What `statusctl alerts` shows.
    var receivers: [MonitorInterface.Receiver] {
        let now = clock()
        func time(_ boot: Duration) -> Timestamp { now.wall + (boot - now.boot) }
        return configuration.receivers.sorted { $0.key < $1.key }.map { name, receiver in
            let report = reports[name] ?? ReceiverReport()
            let (failures, next, isRunning) = machine.deliveries(to: name)
            return MonitorInterface.Receiver(
                name: name, command: receiver.command, deliveredAt: report.deliveredAt?.description,
                failedAt: report.failedAt?.description, problem: report.problem, failures: failures,
                nextAttempt: next.map { time($0).description }, isRunning: isRunning,
                untold: machine.untold(name, at: now.boot).map { MonitorInterface.Untold($0, time) })
        }
    }

    /// The numbers of all receivers, for metrics.
    ///
    /// They are counted at most once a second, and in at most a hundredth of the time: every user may ask, and with
    /// thousands of open problems and ten receivers it takes 20 ms.
    var receiverCounts: [MonitorInterface.ReceiverCounts] {
        let now = clock().boot
        if let counted, now < counted.next { return counted.counts }
        let counts = configuration.receivers.keys.sorted().map { name in
            let report = reports[name] ?? ReceiverReport()
            let untold = machine.untoldCounts(name, at: now)
            return MonitorInterface.ReceiverCounts(
                name: name, due: untold.due, held: untold.held, deliveries: report.deliveries,
                failures: report.failures, failuresInRow: machine.deliveries(to: name).failures)
        }
        counted = (counts, now + max(Self.countingPause, (clock().boot - now) * 100))
        return counts
    }

    /// What an administrator should know: the receivers that do not take what is due.
    var notices: [String] {
        reports.sorted { $0.key < $1.key }.compactMap { name, report in
            guard configuration.receivers[name] != nil, report.problem != nil else { return nil }
            return "the receiver \(name) has not taken its last alert; see “statusctl alerts”"
        }
    }

    /// Sends a receiver an alert that is marked as a test; returns how that ended.
    func test(_ name: String, _ receiver: ReceiverConfiguration) async -> MonitorInterface.AlertTest {
        let now = clock()
        let alert = Alert(
            kind: .problem, server: .test, level: .warning, oldLevel: .ok,
            id: "test-\(String(now.wall.milliseconds, radix: 36))", since: now.wall)
        var message = AlertMessage(
            receiver: name, entries: [.init(alert: alert, description: nil, text: "a test of alerts by statusd")])
        message.isTest = true
        let outcome = await run(
            message, receiver, "\(name.prefix(ServerName.maximumLength - Self.testSuffix.count))\(Self.testSuffix)")
        let milliseconds = Int((clock().boot - now.boot) / .milliseconds(1))
        return MonitorInterface.AlertTest(
            receiver: name, problem: outcome.reason, output: outcome.output, milliseconds: milliseconds)
    }

    /// A test does not wait for a delivery that is running.
    private static let testSuffix = "-test"

    private func note(_ outcome: DeliveryOutcome, of name: String) {
        let now = clock().wall
        var report = reports[name] ?? ReceiverReport()
        if let problem = outcome.problem {
            if report.problem != problem {
                logger.log(.alertFailed, level: .warning, "cannot tell \(name): \(problem); it is tried again")
            }
            (report.problem, report.failedAt) = (problem, now)
            report.failures += 1
        } else {
            if report.problem != nil { logger.log(.alertDelivered, level: .notice, "\(name) has been told again") }
            (report.problem, report.deliveredAt) = (nil, now)
            report.deliveries += 1
        }
        reports[name] = report
    }
}

extension AlertDispatcher: ChangeSink {
    func record(_ change: RecordedChange) -> ChangeReception {
        take(change)
        return .held
    }
}

/// What `statusctl alerts` and metrics show of a receiver's deliveries since the daemon started.
struct ReceiverReport {
    /// The numbers of deliveries that it took, and that it did not take.
    var (deliveries, failures) = (0, 0)
    var deliveredAt: Timestamp?
    var failedAt: Timestamp?
    /// Why the last delivery failed; nil if it did not.
    var problem: String?
}

/// How a receiver's program ended.
struct DeliveryOutcome {
    let end: DeliveryEnd
    /// Why it did not take the delivery; nil if it did.
    let reason: String?
    /// What it wrote to standard error, and to standard output.
    var output = ""

    /// The reason, with the beginning of what it wrote.
    var problem: String? {
        reason.map { reason in reason + (StatusText(fitting: output).map { ": \($0)" } ?? "") }
    }

    init(_ end: DeliveryEnd, _ reason: String?) { (self.end, self.reason) = (end, reason) }

    /// - Parameter outcome: nil if the worker did not answer.
    init(_ outcome: PluginOutcome?, of receiver: ReceiverConfiguration) {
        switch outcome?.ending {
        case .exited(0): self.init(.delivered, nil)
        // EX_TEMPFAIL of sysexits.h: the program does not know, for example because a server did not answer.
        case .exited(75): self.init(.unknown, "exit status 75")
        case .exited(let status): self.init(.refused, "exit status \(status)")
        case .notStarted(let reason): self.init(.refused, "cannot run \(receiver.command[0]): \(reason)")
        case .signaled(let number): self.init(.unknown, "ended by signal \(number)")
        case .timedOut, nil: self.init(.unknown, "timed out after \(TimeSpan.text(receiver.timeout))")
        }
        output = outcome.map { $0.errors + $0.output } ?? ""
    }
}

extension ServerState {
    /// The text of the status, and why it is not current.
    fileprivate var alertText: String {
        let failure = phase == .failed && status != nil ? " (failed: \(message ?? "unknown"))" : ""
        return headline + failure + (isStale ? " (stale)" : "")
    }

    /// Whether servers behind this one cannot be reached.
    fileprivate var isDown: Bool { countedLevel == .critical || phase == .failed }
}
