// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import NotificationStreams
import SourceKinds
public import StatusModel
public import StatusMonitor

/// Runs a server's check: at the start, in each interval, after changes, and when a client requests it.
@EventLoop
public final class CheckSource {
    private let check: any Check
    private let server: ServerName
    private let schedule: CheckSchedule
    private let environment: SourceEnvironment
    private let clock: any Clock<Duration>
    private var hysteresis: Hysteresis
    /// The result whose text is shown.
    private var shown: CheckResult?
    /// Whether the schedule or a client requested the current or next check.
    ///
    /// Changes may come at any rate, so a check that only a change caused does not count towards `failures` and
    /// `successes`.
    private var isCounted = false
    /// The last run: when it began, how long it took, and what its plugin wrote.
    private var lastRun: (startedAt: Timestamp, duration: Duration, output: PluginOutput?)?
    /// When the schedule's next run begins.
    private var nextRun: Timestamp?
    private let firstPause: Duration?
    private let closing: AsyncStream<Never>
    private let closer: AsyncStream<Never>.Continuation
    private let claim: CheckBudget.Claim
    private lazy var loader = StatusLoader(of: server, monitor: environment.monitor) { [weak self] in
        try await self?.runCheck()
    }

    /// Creates a source that checks nothing until it is run.
    init(_ check: any Check, _ order: SourceOrder, clock: any Clock<Duration> = EventLoopClock()) {
        self.check = check
        claim = CheckBudget.Claim(check.resource)
        self.clock = clock
        (server, schedule, environment) = (order.server, order.schedule, order.environment)
        hysteresis = Hysteresis(
            failures: schedule.failures, successes: schedule.successes, shown: order.shown,
            signedStreak: order.restored?.memory.streak ?? 0)
        // A check that reports changes starts to do so with its first run, so that must not be delayed.
        let restored = check.changes == nil ? order.restored : nil
        firstPause = restored.flatMap { Self.pause(after: $0, interval: order.schedule.interval) }
        (closing, closer) = AsyncStream.makeStream()
    }

    /// Runs the check as scheduled until the source is closed or the task is cancelled.
    ///
    /// It returns when no check is running.
    public func run() async {
        let follow: @EventLoop @Sendable () async -> Void = { await self.followSchedule() }
        await withDiscardingTaskGroup { group in
            group.addTask(name: "schedule of \(server)", operation: follow)
            if let changes = check.changes {
                let followChanges: @EventLoop @Sendable () async -> Void = { await self.follow(changes) }
                group.addTask(name: "changes of \(server)", operation: followChanges)
            }
            for await _ in closing {}
            group.cancelAll()
        }
        await loader.ended()
    }

    /// Ends ``run()`` and cancels the running check; nothing more is posted.
    public func close() {
        closer.finish()
        loader.close()
    }

    /// The maximum pause before an overdue check after a restart.
    private static let longestCatchUp = Duration.seconds(30)

    /// Returns the pause before the first check after a restart: the rest of the interval.
    ///
    /// Overdue checks are spread over time.
    private static func pause(after restored: RestoredSource, interval: Duration) -> Duration? {
        if restored.isUrgent { return nil }
        let rest = interval - restored.age
        return rest > .zero ? min(rest, interval) : min(interval, longestCatchUp) * .random(in: 0...1)
    }

    private func followSchedule() async {
        if let firstPause { do { try await pause(for: firstPause) } catch { return } }
        // The second check is at a random time of the interval, so that sources that start together are spread out.
        var pauses = 0.05...1.0
        while !Task.isCancelled {
            isCounted = true
            try? await loader()
            do { try await pause(for: schedule.interval * .random(in: pauses)) } catch { return }
            pauses = 0.9...1.1
        }
    }

    private func pause(for duration: Duration) async throws {
        nextRun = Timestamp(milliseconds: Moment.now().wall.milliseconds + Int64(duration / .milliseconds(1)))
        // Checks that are due at nearly the same time begin together, so that the processor sleeps longer.
        try await clock.sleep(for: duration, tolerance: min(schedule.interval / 20, .seconds(1)))
    }

    /// The minimum pause after a check that a change caused, and the minimum as a multiple of the check's duration.
    ///
    /// Changes may come at any rate, and checks may be slow.
    private static let (pauseAfterChange, pauseFactor) = (Duration.seconds(1), 10)

    private func follow(_ changes: AsyncStream<Void>) async {
        for await _ in changes {
            let time = await clock.measure { try? await loader() }
            let pause = max(Self.pauseAfterChange, time * Self.pauseFactor)
            do { try await clock.sleep(for: pause) } catch { return }
        }
    }

    private func runCheck() async throws {
        // A cancelled request does not make the next check count, unless another caller waits for it.
        defer { if !loader.hasCallers { isCounted = false } }
        let outcome: Result<CheckResult, CheckFailure>
        do {
            let (check, requested) = (check, SuspendingClock.now)
            let work: @EventLoop @Sendable () async throws -> CheckResult = {
                self.noteDelay(requested.duration(to: .now))
                guard OwnedDescriptor.hasRoom else {
                    throw CheckFailure("too many open files; raise LimitNOFILE= of the service")
                }
                let (begin, clock) = (Moment.now().wall, ContinuousClock.now)
                defer { self.lastRun = (begin, clock.duration(to: .now), nil) }
                return try await check.run()
            }
            outcome = .success(try await environment.budget.run(claim, isUrgent: loader.isRequested, work))
        } catch let error as CheckFailure {
            outcome = .failure(error)
        }
        try Task.checkCancellation()
        if !loader.isClosed { post(outcome) }
    }

    /// Reports a check that was delayed by more than its interval.
    private func noteDelay(_ delay: Duration) {
        if delay > schedule.interval { environment.budget.reportDelay(delay, of: server, claim) }
    }

    private func post(_ outcome: Result<CheckResult, CheckFailure>) {
        defer { isCounted = false }
        // Posting fails if the server has been removed in the meantime.
        let monitor = environment.monitor
        switch outcome {
        case .success(let result):
            lastRun?.output = result.output
            let text = text(of: result)
            switch hysteresis.take(result.level, isExtra: !isCounted) {
            case .show:
                let values = result.values + result.unshown
                _ = try? monitor.post(text, level: result.level, values: values, to: server)
            case .hold(let count, let needed):
                try? monitor.setMessage(Hysteresis.message(text, result.level, count, of: needed), of: server)
            }
        case .failure(let failure):
            lastRun?.output = failure.output
            try? monitor.fail(server, VisibleText.escape(failure.description))
        }
    }

    /// Returns the text of the result, or that of a near one before; if it is empty, the name of the level.
    private func text(of result: CheckResult) -> StatusText {
        if shown.map(result.isNear) != true { shown = result }
        return StatusText(fitting: shown?.fullText ?? "") ?? StatusText(of: result.level)
    }
}

extension CheckSource: Source {
    public var checkRun: CheckRun? {
        CheckRun(
            command: check.command, startedAt: lastRun?.startedAt,
            milliseconds: lastRun.map { Int($0.duration / .milliseconds(1)) }, next: nextRun, output: lastRun?.output)
    }

    public func note(in memory: inout SourceMemory) { memory.streak = hysteresis.signedStreak }

    public var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.refresh() } }

    public func recheck() async {
        await loader.ended()
        isCounted = true
        try? await loader()
    }

    private func refresh() async {
        // If the check already waits for a slot, it becomes urgent after the caller has joined.
        EventLoop.atEndOfTurn { [environment, claim] in environment.budget.expedite(claim) }
        isCounted = true
        await loader.refresh()
    }
}
