// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import LogLimiting
import Logging
import StatusModel
import StatusWorkers

/// Workers that carry out calls, each worker one at a time; it keeps as many as were needed lately.
///
/// No caller waits longer than its timeout: a call that does not end is left to its worker. Until that worker has ended, no other call is made
/// for the same server.
@EventLoop
final class WorkerPool<Call: WorkerCall>: SharedResource {
    typealias Answer = Call.Answer

    private let workers: WorkerStarter
    /// The workers that wait; the last one is used first.
    private var idle: [WorkerRunner<Answer>] = []
    /// The number of idle workers that were not needed since the timer started.
    private var unneeded = 0
    /// The workers that are about to end, and whose server waits for that.
    private var ending: [ServerName: WorkerRunner<Answer>] = [:]
    /// The servers whose worker did not end in time.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?

    convenience init(in environment: SourceEnvironment) { self.init(Call.workers(in: environment)) }

    /// A pool that has no workers yet.
    init(_ workers: WorkerStarter) { self.workers = workers }

    /// Makes a call for a server; returns nil if it takes longer than `timeout`.
    ///
    /// A worker that should keep the time itself and does not may have been stopped. Then another worker gets the call, with the same timeout. The timeout includes
    /// neither the start of a worker nor the end of the server's previous call.
    ///
    /// - Throws: ``CheckFailure`` if no worker can be started; ``WorkerLost`` if two workers end, or one does and too little time is left for
    ///   another; ``StuckCheck`` if the server's previous call does not end; `CancellationError`.
    func run(_ call: Call, of server: ServerName, within timeout: Duration) async throws -> Answer? {
        try await waitForPredecessor(of: server)
        var (idle, rest) = (takeIdleWorker(), timeout)
        var notFinal: Answer?
        var wasLost = false
        for run in 1...PoolLimits.runs {
            // The second run gets a new worker: the cause of the first failure may concern all idle ones.
            let worker =
                if let idle { idle } else {
                    WorkerRunner<Answer>(try await workers.start(within: max(timeout, PoolLimits.startTime)))
                }
            idle = nil
            let isShort = wasLost && rest < timeout / 2
            let began = ContinuousClock.now
            let answer: Answer?? = await TimedWait.run(within: rest) { worker.run(call, then: $0) }
            rest -= began.duration(to: .now)
            guard let answer else {
                end(worker, of: server)
                try Task.checkCancellation()
                if isShort { throw WorkerLost() }
                guard workers.keepsTime, run < PoolLimits.runs else { return nil }
                try await waitForPredecessor(of: server)
                rest = timeout
                continue
            }
            notFinal = answer
            guard let answer else {
                workers.losses?.log(
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

    /// Ends all workers, and waits up to `limit` until they have ended.
    ///
    /// Otherwise the service manager would have to kill them, and log that.
    func close(within limit: Duration) async {
        let (workers, endsAtOnce) = (idle + ending.values, workers.endsAtOnce)
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

    private func keep(_ worker: WorkerRunner<Answer>) {
        idle.append(worker)
        guard timer == nil else { return }
        unneeded = idle.count
        timer = try? TimerSource(accuracy: .seconds(1)) { [weak self] in self?.endUnneeded() }
        timer?.schedule(after: PoolLimits.idleTime)
    }

    private func endUnneeded() {
        // The first ones have waited the longest.
        for worker in idle.prefix(unneeded) { worker.stop(atOnce: workers.endsAtOnce) }
        idle.removeFirst(min(unneeded, idle.count))
        unneeded = idle.count
        if idle.isEmpty { timer = nil } else { timer?.schedule(after: PoolLimits.idleTime) }
    }

    // MARK: Calls that do not end

    private func end(_ worker: WorkerRunner<Answer>, of server: ServerName) {
        worker.stop(atOnce: workers.endsAtOnce)
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
    /// How often a call is made if its worker cannot carry it out, or ends: because of a restart of the executor, or of another call.
    static let runs = 2
    /// How long a worker may take to start, at least; a call with a longer timeout waits that long.
    static let startTime = Duration.seconds(5)
    /// How often workers that were not needed are ended.
    static let idleTime = Duration.seconds(10)
    /// How long a call that timed out may take to end before it is reported as stuck.
    static let patience = Duration.seconds(1)
    /// The maximum number of workers that are about to end.
    static let ending = OwnedDescriptor.limit / 16
}

/// Two workers ended during a call, or one did and too little time was left for another.
struct WorkerLost: Error {}

/// The server's previous call does not end, so no other is made.
struct StuckCheck: Error {
    /// The number of other servers in the same state.
    let others: Int

    /// The number of other servers, as the end of a phrase.
    var asWithOthers: String { others == 0 ? "" : ", as with \(others) other\(others == 1 ? "" : "s")" }
}
