// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusWorkers
public import Systemd

/// Runs plugins by way of workers, processes apart, of which as many are kept as were needed lately.
///
/// A plugin is never waited for beyond its time: what does not end is left to its worker. Until that has ended it, no other plugin runs for the
/// same server.
@EventLoop
public final class PluginPool {
    /// How long a plugin whose time is over may take to end before it is said to be stuck.
    private static let patience = Duration.seconds(1)
    /// How often workers that nobody needed are ended.
    private static let interval = Duration.seconds(10)
    /// More workers than these may not be on their way out at a time.
    private static let maximumEnding = OwnedDescriptor.limit / 16
    /// How often a plugin is begun if its worker cannot start it or ends meanwhile: because the executor is restarted, or because of a
    /// plugin.
    private static let maximumRuns = 2
    /// How long a worker may take to start, which is not the plugin's fault; more if the plugin has more.
    private static let startLimit = Duration.seconds(5)

    private let starter: WorkerStarter
    /// The workers that wait; the last one is used first.
    private var idle: [PluginRunner] = []
    /// How many of them nobody has needed since the timer began to run.
    private var unneeded = 0
    private var ending: [ServerName: PluginRunner] = [:]
    /// Those that were found not to end.
    private var stuck: Set<ServerName> = []
    private var timer: TimerSource?

    /// A pool without workers.
    public init(_ place: WorkerPlace) {
        starter = WorkerStarter(place: place, role: .pluginWorker, purpose: "run plugins")
    }

    /// Runs a plugin for a server; returns nil if it takes longer than `timeout`.
    ///
    /// - Throws: ``CheckFailure`` if it cannot be run, ``StuckPlugin`` if the one before it does not end, `CancellationError`.
    func run(_ command: [String], of server: ServerName, within timeout: Duration) async throws -> PluginOutcome? {
        try await waitForPredecessor(of: server)
        var (idle, rest) = (takeIdleWorker(), timeout)
        var notStarted: PluginOutcome?
        for _ in 0..<Self.maximumRuns {
            // The second run gets a new worker: another plugin may have spoiled all that are idle.
            let worker = if let idle { idle } else { try await startWorker(within: max(timeout, Self.startLimit)) }
            idle = nil
            let began = ContinuousClock.now
            let answer: PluginOutcome?? = await TimedWait.run(within: rest) { end in
                worker.run(PluginCall(command: command), then: end)
            }
            rest -= began.duration(to: .now)
            guard let answer else {
                end(worker, of: server)
                try Task.checkCancellation()
                return nil
            }
            notStarted = answer
            guard let outcome = answer, outcome.isStarted else { continue }
            if outcome.leavesProcesses { end(worker, of: server) } else { keep(worker) }
            return outcome
        }
        if let notStarted { return notStarted }
        throw CheckFailure("cannot run \(command[0]): the worker that runs it has ended")
    }

    // MARK: Workers

    private func takeIdleWorker() -> PluginRunner? {
        while let worker = idle.popLast() {
            unneeded = min(unneeded, idle.count)
            if worker.isIdle { return worker }
        }
        return nil
    }

    private func startWorker(within limit: Duration) async throws -> PluginRunner {
        PluginRunner(try await starter.start(within: limit))
    }

    private func keep(_ worker: PluginRunner) {
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

    private func end(_ worker: PluginRunner, of server: ServerName) {
        worker.stop()
        ending[server] = worker
        worker.whenEnded { [weak self, weak worker] in
            if let worker { self?.forget(worker, of: server) }
        }
    }

    private func forget(_ worker: PluginRunner, of server: ServerName) {
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
    fileprivate var isStarted: Bool { if case .notStarted = ending { false } else { true } }
}

/// A plugin's processes do not end, so that no other is run for its server.
struct StuckPlugin: Error {
    /// How many other servers this holds for.
    let others: Int
}
