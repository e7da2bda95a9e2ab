// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel
import StatusWorkers
import Varlink

/// A call that workers carry out, such as running a plugin.
///
/// All sources that make such calls share one pool of workers: `environment.shared(WorkerPool<Call>.self)`.
protocol WorkerCall: JSONWritable, Sendable {
    associatedtype Answer: WorkerAnswer
    @EventLoop static func workers(in environment: SourceEnvironment) -> WorkerStarter
}

/// A pool of workers, each of which carries out one call at a time.
///
/// It keeps as many idle workers as were needed in the last seconds. If a call exceeds its timeout, the caller
/// continues, and the pool ends the worker. It makes no other call for the same server until that worker has ended.
@EventLoop
final class WorkerPool<Call: WorkerCall>: SharedResource {
    typealias Answer = Call.Answer

    private let workers: WorkerStarter
    /// The idle workers; the last one is used next.
    private var idle: [Worker<Answer>] = []
    /// The minimum number of idle workers since the timer was scheduled.
    private var unneeded = 0
    /// The workers that are being ended during a call, by the server of that call.
    private var ending: [ServerName: Worker<Answer>] = [:]
    /// The servers whose worker has not ended in time.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?
    /// The number of calls that have their turn, and when the last one got it.
    private var (calls, lastTurn) = (0, ContinuousClock.now)
    /// The calls that wait for their turn, in order, with a closure that begins it.
    private var waiting: [(number: Int, begin: @Sendable () -> Void)] = []
    private var lastNumber = 0

    convenience init(in environment: SourceEnvironment) { self.init(Call.workers(in: environment)) }

    init(_ workers: WorkerStarter) { self.workers = workers }

    /// Makes a call for a server; returns nil if it takes longer than `timeout`.
    ///
    /// If the first worker is lost, for example because it ended while it was idle, a new one gets the rest of the
    /// time. Starting a worker and waiting for the server's previous call do not count towards the timeout.
    ///
    /// - Parameter mayRepeat: whether the call may be made twice.
    /// - Throws: ``CheckFailure`` if no worker can be started; ``WorkerLost`` if two workers are lost, or one is lost
    ///   and too little time is left for a second one; ``StuckCheck`` if the server's previous call does not end;
    ///   `CancellationError`.
    func run(
        _ call: Call, of server: ServerName, within timeout: Duration, mayRepeat: Bool = true
    ) async throws -> Answer? {
        try await waitForPredecessor(of: server)
        await waitForTurn()
        try Task.checkCancellation()
        calls += 1
        defer { calls -= 1 }
        let worker = if let worker = takeIdleWorker() { worker } else { try await newWorker(timeout) }
        let began = ContinuousClock.now
        do {
            return try await attempt(call, of: server, with: worker, within: timeout)
        } catch is WorkerLost where mayRepeat {
            let rest = timeout - began.duration(to: .now)
            let answer = try await attempt(call, of: server, with: newWorker(timeout), within: rest)
            if answer == nil, rest < timeout / 2 { throw WorkerLost() }
            return answer
        }
    }

    /// Makes a call; returns nil if it times out, and throws ``WorkerLost`` if its worker is lost.
    private func attempt(
        _ call: Call, of server: ServerName, with worker: Worker<Answer>, within limit: Duration
    ) async throws -> Answer? {
        switch await TimedWait.run(within: limit, { worker.run(call, then: $0) }) {
        case nil:
            end(worker, of: server)
            try Task.checkCancellation()
            return nil
        case .some(nil):
            workers.losses?.log(
                "\(server): the worker ended during the request", about: server.rawValue,
                metadata: ["server": "\(server)"])
            throw WorkerLost()
        case .some(let answer?):
            if answer.leavesWorkerIdle { keep(worker) } else { end(worker, of: server) }
            return answer
        }
    }

    private func newWorker(_ timeout: Duration) async throws -> Worker<Answer> {
        try await workers.start(within: max(timeout, PoolLimits.startTime))
    }

    /// Ends all workers, and waits for at most `limit` until they have ended.
    ///
    /// systemd kills and logs remaining processes.
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

    /// Waits for the end of a call that has just begun, so that calls that begin together need only one worker.
    private func waitForTurn() async {
        defer { lastTurn = .now }
        guard calls > 0, .now - lastTurn < PoolLimits.turn else { return }
        lastNumber += 1
        let number = lastNumber
        _ = await TimedWait<Void>.run(within: PoolLimits.turn) { end in waiting.append((number, { end(()) })) }
        waiting.removeAll { $0.number == number }
    }

    private func takeIdleWorker() -> Worker<Answer>? {
        while let worker = idle.popLast() {
            unneeded = min(unneeded, idle.count)
            if worker.isIdle { return worker }
        }
        return nil
    }

    private func keep(_ worker: Worker<Answer>) {
        idle.append(worker)
        if !waiting.isEmpty { waiting.removeFirst().begin() }
        guard timer == nil else { return }
        unneeded = idle.count
        timer = try? TimerSource(accuracy: .seconds(1)) { [weak self] in self?.endUnneeded() }
        timer?.schedule(after: PoolLimits.idleTime)
    }

    private func endUnneeded() {
        // The first workers have been idle for the longest time.
        for worker in idle.prefix(unneeded) { worker.stop(atOnce: workers.endsAtOnce) }
        idle.removeFirst(min(unneeded, idle.count))
        unneeded = idle.count
        if idle.isEmpty { timer = nil } else { timer?.schedule(after: PoolLimits.idleTime) }
    }

    // MARK: Calls that do not end

    private func end(_ worker: Worker<Answer>, of server: ServerName) {
        worker.stop(atOnce: workers.endsAtOnce)
        ending[server] = worker
        worker.whenEnded { [weak self, weak worker] in
            if let worker { self?.forget(worker, of: server) }
        }
    }

    private func forget(_ worker: Worker<Answer>, of server: ServerName) {
        guard ending[server] === worker else { return }
        ending[server] = nil
        stuck.remove(server)
    }

    private func waitForPredecessor(of server: ServerName) async throws {
        guard let worker = ending[server] else {
            guard ending.count < PoolLimits.ending else {
                throw CheckFailure("\(ending.count) previous checks cannot be ended; no new check is started")
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
    /// The time in which a worker must start; for a call with a longer timeout, it is that timeout.
    static let startTime = Duration.seconds(5)
    /// The time that a call waits for the one before it, which usually takes less than a millisecond.
    static let turn = Duration.milliseconds(50)
    /// The interval at which unneeded workers are ended.
    static let idleTime = Duration.seconds(10)
    /// The time in which a call that timed out must end; after that, it counts as stuck.
    static let patience = Duration.seconds(1)
    /// The maximum number of workers that are being ended.
    static let ending = OwnedDescriptor.limit / 16
}

/// Two workers were lost during a call, or too little time was left after the first loss.
struct WorkerLost: Error {}

/// No call is made because the server's previous call does not end.
struct StuckCheck: Error, CustomStringConvertible {
    /// The number of other servers in the same state.
    let others: Int

    var description: String {
        let affected = others == 0 ? "" : " (\(others) other server\(others == 1 ? "" : "s") affected)"
        return "the previous check cannot be ended\(affected); no new check is started"
    }
}
