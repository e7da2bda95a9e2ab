// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import NotificationStreams
public import SourceKinds
public import StatusModel
public import StatusMonitor

/// A server whose status is loaded by a check: once at first, then again and again, and whenever somebody asks for it.
@EventLoop
public final class CheckSource {
    private let server: ServerName
    private let check: any Check
    private let schedule: CheckSchedule
    private let budget: CheckBudget
    private let monitor: StatusMonitor
    private let clock: any Clock<Duration>
    private var hysteresis: Hysteresis
    private var latency = Latency()
    /// Whether the schedule, or somebody, asked for the load that runs or is about to.
    ///
    /// Changes come as often as others like, so a load that only a change caused does not count as one of several in a row.
    private var isCounted = false
    private var predecessor: CheckSource?
    private var isClosed = false
    private let closing: AsyncStream<Never>
    private let closer: AsyncStream<Never>.Continuation
    private lazy var claim = CheckBudget.Claim(check.resource) { [weak self] in self?.load.isWanted ?? false }
    private lazy var load = ServerLoad(of: server, monitor: monitor) { [weak self] in try await self?.loadStatus() }

    /// A source that loads nothing before it is run.
    ///
    /// - Parameters:
    ///   - server: whose status.
    ///   - check: how to find out.
    ///   - schedule: when.
    ///   - predecessor: the source whose place it takes, which has been closed; nothing is loaded before that has ended.
    ///   - shown: the level that is shown already; nil where that says nothing of this check.
    ///   - budget: how much of the machine all checks may use.
    ///   - monitor: where statuses are posted.
    ///   - clock: what the schedule counts by.
    public init(
        server: ServerName, check: any Check, schedule: CheckSchedule, predecessor: CheckSource? = nil,
        shown: Level? = nil, budget: CheckBudget, monitor: StatusMonitor, clock: any Clock<Duration> = EventLoopClock()
    ) {
        self.server = server
        self.check = check
        self.schedule = schedule
        self.budget = budget
        self.monitor = monitor
        self.clock = clock
        self.predecessor = predecessor
        hysteresis = Hysteresis(failures: schedule.failures, successes: schedule.successes, shown: shown)
        (closing, closer) = AsyncStream.makeStream()
    }

    /// Loads as the schedule says until the source is closed or the task cancelled; returns when nothing of it runs any more.
    public func run() async {
        let follow: @EventLoop @Sendable () async -> Void = { await self.follow() }
        await withDiscardingTaskGroup { group in
            group.addTask(name: "schedule of \(server)", operation: follow)
            if let changes = check.changes {
                let heed: @EventLoop @Sendable () async -> Void = { await self.heed(changes) }
                group.addTask(name: "changes of \(server)", operation: heed)
            }
            for await _ in closing {}
            group.cancelAll()
        }
        await load.ended()
    }

    /// Ends ``run()`` and the load that runs; what it still finds is not posted.
    public func close() {
        isClosed = true
        closer.finish()
        load.close()
    }

    private func follow() async {
        var generator = SystemRandomNumberGenerator()
        isCounted = true
        try? await load()
        var pause = schedule.spread(using: &generator)
        while !Task.isCancelled {
            do { try await clock.sleep(for: pause) } catch { return }
            isCounted = true
            try? await load()
            pause = schedule.pause(using: &generator)
        }
    }

    /// The shortest time from the end of one load to the next that a change causes, and how many times as long as the load it is: changes may come as often
    /// as others like, and loads take as long.
    private static let (pauseAfterChange, pauseFactor) = (Duration.seconds(1), 10)

    private func heed(_ changes: AsyncStream<Void>) async {
        for await _ in changes {
            let time = await clock.measure { try? await load() }
            let pause = max(Self.pauseAfterChange, time * Self.pauseFactor)
            do { try await clock.sleep(for: pause) } catch { return }
        }
    }

    /// Returns when no load of this source runs, nor of those whose place it has taken.
    private func ended() async {
        await predecessorEnded()
        await load.ended()
    }

    /// Never two loads of one server at once, however quickly one source takes the place of another.
    private func predecessorEnded() async {
        await predecessor?.ended()
        predecessor = nil
    }

    private func loadStatus() async throws {
        // Of a load that was cancelled nothing counts, unless somebody has asked for the next one meanwhile.
        defer { if !load.hasCallers { isCounted = false } }
        await predecessorEnded()
        let outcome: Result<CheckResult, CheckFailure>
        do {
            let (check, asked) = (check, SuspendingClock.now)
            let work: @EventLoop @Sendable () async throws -> CheckResult = {
                self.noteDelay(asked.duration(to: .now))
                guard OwnedDescriptor.hasRoom(for: OwnedDescriptor.reserve) else {
                    throw CheckFailure("too many open files; raise LimitNOFILE= of the service")
                }
                return try await check.run()
            }
            outcome = .success(try await budget.run(claim, work))
        } catch let error as CheckFailure {
            outcome = .failure(error)
        }
        try Task.checkCancellation()
        if !isClosed { post(outcome) }
    }

    /// What is shown is older than it should be, and nothing else tells.
    private func noteDelay(_ delay: Duration) {
        if delay > schedule.interval { budget.onDelay(server, delay) }
    }

    private func post(_ outcome: Result<CheckResult, CheckFailure>) {
        defer { isCounted = false }
        // A server that was removed meanwhile has nobody to tell.
        switch outcome {
        case .success(let result):
            let text = text(of: result)
            switch hysteresis.take(result.level, isExtra: !isCounted) {
            case .show: _ = try? monitor.post(text, level: result.level, to: server)
            case .hold(let count, let needed):
                try? monitor.remark(Hysteresis.remark(text, result.level, count, of: needed), about: server)
            }
        case .failure(let failure): try? monitor.fail(server, VisibleText.escape(failure.description))
        }
    }

    /// The text with how long it took; where nothing is left of it, the level's word.
    private func text(of result: CheckResult) -> StatusText {
        let text = result.latency.map { "\(result.text) in \(latency.text(for: $0))" } ?? result.text
        return StatusText(fitting: text) ?? StatusText(of: result.level)
    }
}

extension CheckSource: Source {
    public var refreshAction: RefreshAction? { RefreshAction { [weak self] in await self?.loadForSomebody() } }

    private func loadForSomebody() async {
        // A load that waits for a slot already becomes urgent once its caller has joined.
        EventLoop.atEndOfTurn { [budget, claim] in budget.expedite(claim) }
        isCounted = true
        await load.refresh()
    }
}
