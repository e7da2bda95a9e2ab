// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusInterface
import StatusModel
import SystemdClient

/// Reads the configuration again and applies it, one reload after another.
///
/// Each reload begins after the calls that requested it, so it sees the files that the callers have written. All calls
/// during a reload share the next one.
@EventLoop
final class Reloader {
    typealias Outcome = Result<MonitorInterface.ReloadReply, Problem>

    private struct Waiter {
        let end: @Sendable (Outcome?) -> Void
        /// The client that requested the reload.
        let caller: Caller?
        let isDryRun: Bool
    }

    private let reading: ReadingThread
    private let registry: ServerRegistry
    private let logger: Logger
    private let outcomes: LogLimiter
    private let failures: LogLimiter
    /// The callers of the current reload and of the next one.
    private var current: [Int: Waiter] = [:]
    private var next: [Int: Waiter] = [:]
    private var lastCaller = 0
    /// The number of callers that wait for the next reload.
    var waiting: Int { next.count }
    private var hasEnded = false
    /// Whether a reload was requested without waiting for it.
    private var isRequested = false
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    /// Called at the end of a reload with the configuration; with nil if it was refused.
    var onReload: @EventLoop (ReadConfiguration?) -> Void = { _ in }

    init(reading: ReadingThread, registry: ServerRegistry, logger: Logger) {
        self.reading = reading
        self.registry = registry
        self.logger = logger
        outcomes = LogLimiter(logger, .info, burst: Self.reloadsLogged)
        failures = LogLimiter(logger, .error, burst: Self.reloadsLogged)
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Longer than any reload, whose parts have limits of their own.
    private static let limit = Duration.seconds(3600)
    /// The number of reloads in half a minute that are logged individually; only a program makes more.
    private static let reloadsLogged = 10

    /// Reloads on request, until the task is cancelled.
    func run() async {
        for await _ in wakeUps where isRequested || !next.isEmpty {
            let isDryRun = !isRequested && next.values.allSatisfy(\.isDryRun)
            let caller = next.values.lazy.filter { !$0.isDryRun }.compactMap(\.caller).first
            isRequested = false
            (current, next) = (next, [:])
            let outcome = await perform(isDryRun: isDryRun, for: caller)
            resumeCurrent(outcome)
        }
        hasEnded = true
        (current, next) = (next, [:])
        resumeCurrent(nil)
    }

    func request() {
        isRequested = true
        wakeUp.yield()
    }

    /// Reloads; returns what changed, or why nothing did, or nil if the daemon stops first or the task is cancelled.
    ///
    /// - Parameters:
    ///   - isDryRun: whether to return only what would change; another caller may reload at the same time.
    ///   - client: the client that requested it.
    func reload(isDryRun: Bool = false, by client: Caller? = nil) async -> Outcome? {
        if hasEnded || Task.isCancelled { return nil }
        lastCaller += 1
        let caller = lastCaller
        defer { (current[caller], next[caller]) = (nil, nil) }
        return await TimedWait<Outcome?>.run(within: Self.limit) { end in
            next[caller] = Waiter(end: end, caller: client, isDryRun: isDryRun)
            wakeUp.yield()
        } ?? nil
    }

    private func resumeCurrent(_ outcome: Outcome?) {
        let callers = current
        current = [:]
        for (_, caller) in callers.sorted(by: { $0.key < $1.key }) { caller.end(outcome) }
    }

    private static func count(ofErrors count: Int) -> String {
        count == 0 ? "" : ", \(count) error\(count == 1 ? "" : "s")"
    }

    /// - Parameters:
    ///   - isDryRun: whether to make only the plan.
    ///   - caller: the client that requested it, or one of several.
    private func perform(isDryRun: Bool, for caller: Caller?) async -> Outcome? {
        if !isDryRun { ServiceManager.notify(.reloading) }
        let result = await reading.read(isTrial: isDryRun)
        // The daemon is shutting down and has announced it.
        if Task.isCancelled { return nil }
        let plan = result.map { registry.plan($0) }
        if isDryRun { return plan.map(\.reply).mapError(\.problem) }
        defer { ServiceManager.notify(.ready) }
        let origin = caller.map { Logger.Metadata.of($0) } ?? [:]
        switch plan {
        case .failure(let failure):
            refuse(because: failure.problem, origin)
            return .failure(failure.problem)
        case .success(let plan): return .success(apply(plan, origin))
        }
    }

    private func refuse(because problem: Problem, _ origin: Logger.Metadata) {
        onReload(nil)
        failures.log(
            "configuration not reloaded: \(problem)", about: "reload",
            metadata: .of(.reloadFailed).merging(.place(of: problem)) { $1 }.merging(origin) { $1 })
    }

    private func apply(_ plan: ReloadPlan, _ origin: Logger.Metadata) -> MonitorInterface.ReloadReply {
        let (reply, read) = (registry.apply(plan), plan.read)
        onReload(read)
        let changes = "\(reply.added.count) added, \(reply.changed.count) changed, \(reply.removed.count) removed"
        let isLogged = outcomes.log(
            "configuration reloaded: \(changes)\(Self.count(ofErrors: read.errorCount))",
            about: "reload", metadata: .of(.reloaded).merging(origin) { $1 })
        if isLogged {
            for problem in read.errors + read.warnings + [plan.refusal].compactMap(\.self) { logger.log(problem) }
        }
        return reply
    }
}
