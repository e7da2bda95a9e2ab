// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import LogLimiting
import Logging
import StatusModel
public import StatusWorkers
public import Varlink

/// Workers that carry out calls, each one at a time, of which as many are kept as were needed lately.
///
/// A call is never waited for beyond its time: what does not end is left to its worker. Until that has ended, no other call is made for the same
/// server.
@EventLoop
public final class WorkerPool<Call: JSONWritable & Sendable, Answer: WorkerAnswer> {
    private let starter: WorkerStarter
    private let keepsTime: Bool
    private let endsAtOnce: Bool
    private let losses: LogLimiter?
    /// The workers that wait; the last one is used first.
    private var idle: [WorkerRunner<Answer>] = []
    /// How many of them nobody has needed since the timer began to run.
    private var unneeded = 0
    private var ending: [ServerName: WorkerRunner<Answer>] = [:]
    /// Those that were found not to end.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?

    /// A pool without workers.
    ///
    /// - Parameters:
    ///   - starter: makes them.
    ///   - keepsTime: whether a worker ends each call in its time.
    ///   - endsAtOnce: whether it may be killed at any time, because it starts nothing.
    ///   - losses: is told if one ends by itself; nil if that is nothing to tell.
    init(_ starter: WorkerStarter, keepsTime: Bool, endsAtOnce: Bool, losses: LogLimiter? = nil) {
        self.starter = starter
        self.keepsTime = keepsTime
        self.endsAtOnce = endsAtOnce
        self.losses = losses
    }

    /// Makes a call for a server; returns nil if it takes longer than `timeout`.
    ///
    /// Where workers keep the time themselves, one that does not may have been stopped; then another one is tried, with as much time. What a
    /// worker takes to start, and the call before it to end, comes on top.
    ///
    /// - Throws: ``CheckFailure`` if there is no worker, ``WorkerLost`` if two of them end, or one does and what is left of the time is too short for
    ///   another, ``StuckCheck`` if the one before does not end, `CancellationError`.
    func run(
        _ call: Call, of server: ServerName, within timeout: Duration
    ) async throws -> Answer? {
        try await waitForPredecessor(of: server)
        var (idle, rest) = (takeIdleWorker(), timeout)
        var notFinal: Answer?
        var wasLost = false
        for run in 1...PoolLimits.runs {
            // The second run gets a new worker: what was done before may have spoiled all that are idle.
            let worker =
                if let idle { idle } else { try await startWorker(within: max(timeout, PoolLimits.startTime)) }
            idle = nil
            let isShort = wasLost && rest < timeout / 2
            let began = ContinuousClock.now
            let answer: Answer?? = await TimedWait.run(within: rest) { worker.run(call, then: $0) }
            rest -= began.duration(to: .now)
            guard let answer else {
                end(worker, of: server)
                try Task.checkCancellation()
                if isShort { throw WorkerLost() }
                guard keepsTime, run < PoolLimits.runs else { return nil }
                try await waitForPredecessor(of: server)
                rest = timeout
                continue
            }
            notFinal = answer
            guard let answer else {
                losses?.log(
                    "\(server): the process of the request ended", about: server.rawValue,
                    metadata: ["server": "\(server)"])
                wasLost = true
                continue
            }
            guard answer.isFinal else { continue }
            if answer.leavesWorkerIdle { keep(worker) } else { end(worker, of: server) }
            return answer
        }
        if let notFinal { return notFinal }
        throw WorkerLost()
    }

    /// Ends all workers, and waits up to `limit` until they have ended; for a pool that makes no more calls.
    ///
    /// The service manager would have to kill those that outlive this process, and say so in the journal.
    public func close(within limit: Duration) async {
        let workers = idle + ending.values
        idle = []
        var remaining = workers.count
        guard remaining > 0 else { return }
        _ = await TimedWait<Void>.run(within: limit) { end in
            for worker in workers {
                worker.stop(atOnce: endsAtOnce)
                worker.whenEnded {
                    remaining -= 1
                    if remaining == 0 { end(()) }
                }
            }
        }
    }

    // MARK: Workers

    private func takeIdleWorker() -> WorkerRunner<Answer>? {
        while let worker = idle.popLast() {
            unneeded = min(unneeded, idle.count)
            if worker.isIdle { return worker }
        }
        return nil
    }

    private func startWorker(within limit: Duration) async throws -> WorkerRunner<Answer> {
        WorkerRunner(try await starter.start(within: limit))
    }

    private func keep(_ worker: WorkerRunner<Answer>) {
        idle.append(worker)
        guard timer == nil else { return }
        unneeded = idle.count
        timer = try? TimerSource(accuracy: .seconds(1)) { [weak self] in self?.endUnneeded() }
        timer?.schedule(after: PoolLimits.idleTime)
    }

    private func endUnneeded() {
        // The first ones have waited the longest.
        for worker in idle.prefix(unneeded) { worker.stop(atOnce: endsAtOnce) }
        idle.removeFirst(min(unneeded, idle.count))
        unneeded = idle.count
        if idle.isEmpty { timer = nil } else { timer?.schedule(after: PoolLimits.idleTime) }
    }

    // MARK: Calls that do not end

    private func end(_ worker: WorkerRunner<Answer>, of server: ServerName) {
        worker.stop(atOnce: endsAtOnce)
        ending[server] = worker
        worker.whenEnded { [weak self, weak worker] in
            if let worker { self?.forget(worker, of: server) }
        }
    }

    private func forget(_ worker: WorkerRunner<Answer>, of server: ServerName) {
        guard ending[server] === worker else { return }
        ending[server] = nil
        stuck.remove(server)
    }

    private func waitForPredecessor(of server: ServerName) async throws {
        guard let worker = ending[server] else {
            guard ending.count < PoolLimits.ending else {
                throw CheckFailure("the processes of \(ending.count) checks do not end; no new ones are started")
            }
            return
        }
        if stuck.contains(server) { throw StuckCheck(others: stuck.count - 1) }
        let ended: Void? = await TimedWait.run(within: PoolLimits.patience) { end in
            worker.whenEnded { end(()) }
        }
        if ended == nil {
            try Task.checkCancellation()
            stuck.insert(server)
            throw StuckCheck(others: stuck.count - 1)
        }
    }
}

private enum PoolLimits {
    /// How often a call is made if its worker cannot carry it out or ends meanwhile: because the executor is restarted, or because of another
    /// call.
    static let runs = 2
    /// How long a worker may take to start, which is not the call's fault; more if the call has more.
    static let startTime = Duration.seconds(5)
    /// How often workers that nobody needed are ended.
    static let idleTime = Duration.seconds(10)
    /// How long a call whose time is over may take to end before it is said to be stuck.
    static let patience = Duration.seconds(1)
    /// More workers than these may not be on their way out at a time.
    static let ending = OwnedDescriptor.limit / 16
}

/// The worker that carried out a call has ended, and so has a second one, or it had too little time left.
struct WorkerLost: Error {}

/// What was done for a server does not end, so that nothing else is.
struct StuckCheck: Error {
    /// How many other servers this holds for.
    let others: Int

    /// How many others there are, as the end of a phrase.
    var asWithOthers: String { others == 0 ? "" : ", as with \(others) other\(others == 1 ? "" : "s")" }
}
