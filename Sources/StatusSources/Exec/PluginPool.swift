// SPDX-License-Identifier: Apache-2.0

import PluginExecutor
import StatusModel
public import Systemd

/// Runs plugins by way of workers, processes apart, of which as many are kept as were needed lately.
///
/// A plugin is never waited for beyond its time: what does not end is left to its worker. Until that has ended it, no other plugin runs for the
/// same server.
@EventLoop
public final class PluginPool {
    /// Where workers come from.
    public enum Place: Sendable {
        /// From the executor that listens at this address.
        case executor(UnixAddress)
        /// From statusd at this path, as children of this process.
        case program(String)
    }

    /// How long a plugin whose time is over may take to end before it is said to be stuck.
    private static let patience = Duration.seconds(1)
    /// How often workers that nobody needed are ended.
    private static let interval = Duration.seconds(10)
    /// More workers than these may not be on their way out at a time.
    private static let maximumEnding = OwnedDescriptor.limit / 16
    /// How often a plugin is begun whose worker ends meanwhile, because its service is restarted; or because the plugin killed it.
    private static let maximumRuns = 2
    /// How many workers are begun for one run, of which each ends before it is ready.
    private static let maximumStarts = 3

    private let place: Place
    /// The workers that wait; the last one is used first.
    private var idle: [PluginWorker] = []
    /// How many of them nobody has needed since the timer began to run.
    private var unneeded = 0
    private var ending: [ServerName: PluginWorker] = [:]
    /// Those that were found not to end.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?

    /// A pool without workers.
    public init(_ place: Place) { self.place = place }

    /// Runs a plugin for a server; returns nil if it takes longer than `timeout`.
    ///
    /// - Throws: ``CheckFailure`` if it cannot be run, ``StuckPlugin`` if the one before it does not end, `CancellationError`.
    func run(_ command: [String], of server: ServerName, within timeout: Duration) async throws -> PluginOutcome? {
        try await waitForPredecessor(of: server)
        let deadline = ContinuousClock.now + timeout
        for _ in 0..<Self.maximumRuns {
            let worker = try await takeWorker(until: deadline)
            let answer: PluginOutcome?? = await TimedWait.run(within: deadline - .now) { end in
                worker.run(PluginCall(command: command), then: end)
            }
            guard let answer else {
                end(worker, of: server)
                try Task.checkCancellation()
                return nil
            }
            if let outcome = answer {
                if outcome.mayRunAnother { keep(worker) } else { end(worker, of: server) }
                return outcome
            }
        }
        throw CheckFailure("cannot run \(command[0]): the worker that runs it has ended")
    }

    // MARK: Workers

    /// Takes a worker that waits, or a new one.
    private func takeWorker(until deadline: ContinuousClock.Instant) async throws -> PluginWorker {
        while let worker = idle.popLast() {
            unneeded = min(unneeded, idle.count)
            if worker.isIdle { return worker }
        }
        for _ in 0..<Self.maximumStarts {
            let worker = try await newWorker(within: deadline - .now)
            switch await TimedWait.run(within: deadline - .now, { worker.whenStarted($0) }) {
            case .ready: return worker
            case .refused(let reason): throw CheckFailure("cannot run plugins: \(reason)")
            case .ended: continue
            case nil:
                try Task.checkCancellation()
                throw Self.silence("does not answer")
            }
        }
        throw Self.silence("ends again and again")
    }

    private static func silence(_ what: String) -> CheckFailure {
        CheckFailure("cannot run plugins: their executor \(what); see “systemctl status statusd-executor”")
    }

    private func newWorker(within limit: Duration) async throws -> PluginWorker {
        do throws(SystemdError) {
            return try PluginWorker(try await connect(within: limit))
        } catch {
            try Task.checkCancellation()
            throw CheckFailure("cannot run plugins: \(error.message)")
        }
    }

    private func connect(within limit: Duration) async throws(SystemdError) -> OwnedDescriptor {
        switch place {
        case .executor(let address):
            do throws(SystemdError) {
                return try await UnixSocket.connect(to: address, timeout: limit)
            } catch {
                throw SystemdError(error.code, "\(error.message); see “systemctl status statusd-executor.socket”")
            }
        case .program(let program):
            let worker = await BlockingThread.run(within: limit) {
                Result { () throws(SystemdError) in try WorkerStart.connect(program: program) }
            }
            guard let worker else { throw SystemdError(.timedOut, "\(program) does not start") }
            return try worker.get()
        }
    }

    private func keep(_ worker: PluginWorker) {
        idle.append(worker)
        guard timer == nil else { return }
        unneeded = idle.count
        timer = try? TimerSource(accuracy: .seconds(1)) { [weak self] in self?.endUnneeded() }
        timer?.schedule(after: Self.interval)
    }

    private func endUnneeded() {
        // The first ones have waited the longest. Without its connection a worker ends.
        idle.removeFirst(min(unneeded, idle.count))
        unneeded = idle.count
        if idle.isEmpty { timer = nil } else { timer?.schedule(after: Self.interval) }
    }

    // MARK: Plugins that do not end

    private func end(_ worker: PluginWorker, of server: ServerName) {
        worker.stop()
        ending[server] = worker
        worker.whenEnded { [weak self] in EventLoop.perform { self?.forget(worker, of: server) } }
    }

    private func forget(_ worker: PluginWorker, of server: ServerName) {
        guard ending[server] === worker else { return }
        ending[server] = nil
        stuck.remove(server)
    }

    private func waitForPredecessor(of server: ServerName) async throws {
        guard let worker = ending[server] else {
            guard ending.count < Self.maximumEnding else {
                throw CheckFailure("the processes of \(ending.count) plugins do not end; no others are started")
            }
            return
        }
        if stuck.contains(server) { throw StuckPlugin(others: stuck.count - 1) }
        let ended: Void? = await TimedWait.run(within: Self.patience) { end in
            worker.whenEnded { end(()) }
        }
        if ended == nil {
            try Task.checkCancellation()
            stuck.insert(server)
            throw StuckPlugin(others: stuck.count - 1)
        }
    }
}

extension PluginOutcome {
    /// Whether the worker may: one that could start nothing may lack something that a new one has.
    fileprivate var mayRunAnother: Bool {
        if case .notStarted = ending { return false }
        return !leavesProcesses
    }
}

/// A plugin's processes do not end, so that no other is run for its server.
struct StuckPlugin: Error {
    /// How many other servers this holds for.
    let others: Int
}
