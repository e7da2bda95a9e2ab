// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import LogLimiting
import Logging
import StatusModel
import StatusWorkers

/// A pool of workers, each of which carries out one call at a time.
///
/// It keeps as many idle workers as were needed in the last seconds. A caller does not wait for a call that exceeds its
/// timeout. The pool ends the worker of that call, and makes no other call for the same server until the worker has
/// ended.
@EventLoop
final class WorkerPool<Call: WorkerCall>: SharedResource {
    typealias Answer = Call.Answer

    private let workers: WorkerStarter
    /// The idle workers; the last one is used first.
    private var idle: [WorkerRunner<Answer>] = []
    /// The minimum number of idle workers since the timer was scheduled.
    private var unneeded = 0
    /// The workers that were told to end during a call, by the server of that call.
    private var ending: [ServerName: WorkerRunner<Answer>] = [:]
    /// The servers whose worker did not end in time.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?

    convenience init(in environment: SourceEnvironment) { self.init(Call.workers(in: environment)) }

    /// A pool that has no workers yet.
    init(_ workers: WorkerStarter) { self.workers = workers }

    /// Makes a call for a server; returns nil if it takes longer than `timeout`.
    ///
    /// If the first worker is lost or cannot carry out the call, a second one gets the rest of the time. If a worker
    /// that should end calls in time does not, it may have been stopped (SIGSTOP), and a second one gets the whole
    /// time. The start of a worker and the end of the server's previous call take no time of the call.
    ///
    /// - Throws: ``CheckFailure`` if no worker can be started; ``WorkerLost`` if two workers are lost, or one is and
    ///   too little time is left for another; ``StuckCheck`` if the server's previous call does not end;
    ///   `CancellationError`.
    func run(_ call: Call, of server: ServerName, within timeout: Duration) async throws -> Answer? {
        try await waitForPredecessor(of: server)
        let worker = if let worker = takeIdleWorker() { worker } else { try await newWorker(timeout) }
        let began = ContinuousClock.now
        let first = try await attempt(call, of: server, with: worker, within: timeout)
        var (rest, isShort) = (timeout - began.duration(to: .now), false)
        switch first {
        case .answered(let answer) where answer.isFinal: return answer
        case .answered: break
        case .lost: isShort = rest < timeout / 2
        case .timedOut:
            guard workers.keepsTime else { return nil }
            try await waitForPredecessor(of: server)
            rest = timeout
        }
        // Not an idle worker: the cause may concern all of them.
        switch try await attempt(call, of: server, with: newWorker(timeout), within: rest) {
        case .answered(let answer): return answer
        case .timedOut where !isShort: return nil
        case .timedOut, .lost: throw WorkerLost()
        }
    }

    private enum Attempt {
        case answered(Answer)
        case timedOut
        case lost
    }

    private func attempt(
        _ call: Call, of server: ServerName, with worker: WorkerRunner<Answer>, within limit: Duration
    ) async throws -> Attempt {
        switch await TimedWait.run(within: limit, { worker.run(call, then: $0) }) {
        case nil:
            end(worker, of: server)
            try Task.checkCancellation()
            return .timedOut
        case .some(nil):
            workers.losses?.log(
                "\(server): the process of the request ended", about: server.rawValue,
                metadata: ["server": "\(server)"])
            return .lost
        case .some(let answer?):
            if answer.isFinal {
                if answer.leavesWorkerIdle { keep(worker) } else { end(worker, of: server) }
            }
            return .answered(answer)
        }
    }

    private func newWorker(_ timeout: Duration) async throws -> WorkerRunner<Answer> {
        WorkerRunner(try await workers.start(within: max(timeout, PoolLimits.startTime)))
    }

    /// Ends all workers, and waits at most `limit` for their end.
    ///
    /// The service manager kills processes that are left, and logs that.
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
    /// The minimum time that a worker gets to start; a call with a longer timeout waits as long as that.
    static let startTime = Duration.seconds(5)
    /// The interval at which workers that were not needed are ended.
    static let idleTime = Duration.seconds(10)
    /// The time in which a call that timed out must end; after that it counts as stuck.
    static let patience = Duration.seconds(1)
    /// The maximum number of workers that were told to end and have not.
    static let ending = OwnedDescriptor.limit / 16
}

/// Two workers were lost during a call, or one was and too little time was left for another.
struct WorkerLost: Error {}

/// No call is made because the server's previous one does not end.
struct StuckCheck: Error {
    /// The number of other servers in the same state.
    let others: Int

    /// The number of other servers, as the end of a phrase.
    var asWithOthers: String { others == 0 ? "" : ", as with \(others) other\(others == 1 ? "" : "s")" }
}
