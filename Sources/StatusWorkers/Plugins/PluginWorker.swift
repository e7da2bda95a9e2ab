// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A process that runs plugins for the daemon, which is connected to its standard input.
///
/// It may block; the daemon then abandons it. When the connection is closed, or on SIGTERM, it ends its
/// plugin and all processes that the plugin has started, and exits.
public struct PluginWorker {
    /// How long a plugin may clean up before it is killed.
    private static let grace = Duration.milliseconds(500)
    /// How long after a call's timeout the answer may come: to clean up, and to kill what is left.
    public static let lateness = grace * 2 + .milliseconds(500)

    private let connection = STDIN_FILENO
    private let signals: OwnedDescriptor
    private let environment = PluginEnvironment(ProcessEnvironment.current)

    /// Runs the worker in this process; does not return.
    public static func run() -> Never {
        Descendants.adoptOrphans()
        guard let signals = Signals.take() else { exit(1) }
        let sparesOthers = PluginWorker(signals: signals).serve()
        while !Descendants.end(within: .seconds(1), sparesOthers: sparesOthers) {}
        exit(0)
    }

    private init(signals: OwnedDescriptor) { self.signals = signals }

    /// Answers calls; returns whether the last one spares processes of other users.
    private func serve() -> Bool {
        var calls = WorkerCalls<PluginCall>()
        var sparesOthers = false
        guard calls.greet() else { return false }
        while let call = calls.wait(until: signals) {
            sparesOthers = call.sparesOthers
            guard let outcome = run(call), calls.answer(outcome), !outcome.leavesProcesses else { break }
        }
        return sparesOthers
    }

    /// Runs a plugin; returns nil if the worker must end, after ending the plugin.
    private func run(_ call: PluginCall) -> PluginOutcome? {
        var plugin: PluginProcess
        do throws(PluginProcess.NotStarted) {
            plugin = try PluginProcess(call, environment: environment.variables(for: call))
        } catch {
            return PluginOutcome(.notStarted(error.reason))
        }
        var deadline = ContinuousClock.now + .milliseconds(call.timeout)
        var isLate = false
        while !plugin.hasEnded {
            let rest = deadline - .now
            if rest <= .zero {
                if isLate { break }
                isLate = true
                deadline += Self.grace
                plugin.signal(SIGTERM)
                continue
            }
            let streams = [plugin.output.descriptor, plugin.errors.descriptor].compactMap { $0?.rawValue }
            let ready = poll([connection, signals.rawValue] + streams, within: rest)
            // The daemon sends nothing while a plugin runs, so the connection is closed.
            if Signals.takeEnd(from: signals) || ready.contains(connection) {
                end(plugin)
                return nil
            }
            if ready.contains(signals.rawValue) { plugin.reapOrphans() }
            plugin.output.read()
            plugin.errors.read()
        }
        var outcome = plugin.finish()
        if isLate { outcome.ending = .timedOut }
        return outcome
    }

    /// Lets a plugin clean up, and then kills its process group.
    private func end(_ plugin: PluginProcess) {
        let deadline = ContinuousClock.now + Self.grace
        plugin.signal(SIGTERM)
        while !plugin.hasEnded, case let rest = deadline - ContinuousClock.now, rest > .zero {
            Signals.wait(within: rest)
        }
        plugin.signal(SIGKILL)
    }

    /// Waits until at least one descriptor is ready, for at most `limit`; returns the ready ones.
    private func poll(_ descriptors: [Int32], within limit: Duration) -> Set<Int32> {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let milliseconds = Int32(clamping: Int((limit / .milliseconds(1)).rounded(.up)))
        guard Glibc.poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return [] }
        return Set(polled.filter { $0.revents != 0 }.map(\.fd))
    }
}
