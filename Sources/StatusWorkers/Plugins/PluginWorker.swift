// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Varlink

/// A process that runs plugins for the daemon at the other end of its standard input, one after another, each with all that it leaves behind.
///
/// It does one thing at a time and may wait for whatever the system makes it wait for: the daemon sees that it does not answer, and leaves
/// it behind. When the connection ends, or SIGTERM comes, it ends its plugin, and itself when nothing is left of that.
public struct PluginWorker {
    /// How long a plugin whose time is over has to clean up, before it is killed.
    private static let grace = Duration.milliseconds(500)

    private let connection = STDIN_FILENO
    private let signals: OwnedDescriptor
    private let limits = ResourceLimits.current
    private let environment = PluginEnvironment.inherited(from: ProcessEnvironment.current)

    /// Runs in this process until the end.
    public static func run() -> Never {
        Descendants.adoptOrphans()
        guard let signals = Signals.take() else { exit(1) }
        let worker = PluginWorker(signals: signals)
        worker.serve()
        while !Descendants.end(within: .seconds(1)) { worker.checkLimits() }
        exit(0)
    }

    /// Ends this process at once if a plugin has lowered its limits: it could not see its descriptors any more, nor list its children.
    ///
    /// The executor ends what it leaves; without an answer, the daemon takes another worker.
    private func checkLimits(of plugin: borrowing PluginProcess? = nil) {
        if limits == .current { return }
        plugin?.signal(SIGKILL)
        exit(1)
    }

    private init(signals: OwnedDescriptor) { self.signals = signals }

    private func serve() {
        var calls = WorkerCalls<PluginCall>()
        guard calls.greet() else { return }
        while let call = next(of: &calls) {
            checkLimits()
            guard let outcome = run(call) else { return }
            checkLimits()
            guard calls.answer(outcome), !outcome.leavesProcesses else { return }
        }
    }

    /// The next call; nil if there is none any more.
    private func next(of calls: inout WorkerCalls<PluginCall>) -> PluginCall? {
        while true {
            do throws(JSONError) {
                if let call = try calls.next() { return call }
            } catch {
                return nil
            }
            _ = poll([connection, signals.rawValue])
            if Signals.takeEnd(from: signals) { return nil }
            guard calls.read() else { return nil }
        }
    }

    /// Runs a plugin; returns nil if the end came first, and the plugin had to end, too.
    private func run(_ call: PluginCall) -> PluginOutcome? {
        var plugin: PluginProcess
        do throws(PluginProcess.NotStarted) {
            plugin = try PluginProcess(call.command, environment: environment)
        } catch {
            return PluginOutcome(.notStarted(error.reason))
        }
        while !plugin.hasEnded {
            let streams = [plugin.output.descriptor, plugin.errors.descriptor].compactMap { $0?.rawValue }
            let ready = poll([connection, signals.rawValue] + streams)
            checkLimits(of: plugin)
            // Nothing is sent while a plugin runs, so this is the end.
            if Signals.takeEnd(from: signals) || ready.contains(connection) {
                end(plugin)
                return nil
            }
            if ready.contains(signals.rawValue) { plugin.reapOrphans() }
            plugin.output.read()
            plugin.errors.read()
        }
        return plugin.finish()
    }

    /// Has a plugin clean up; what is left then is killed.
    private func end(_ plugin: PluginProcess) {
        let deadline = ContinuousClock.now + Self.grace
        plugin.signal(SIGTERM)
        while !plugin.hasEnded, case let rest = deadline - ContinuousClock.now, rest > .zero {
            Signals.wait(within: rest)
        }
        plugin.signal(SIGKILL)
    }

    /// Waits until one of the descriptors is ready; returns those that are.
    private func poll(_ descriptors: [Int32]) -> Set<Int32> {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard Glibc.poll(&polled, nfds_t(polled.count), -1) > 0 else { return [] }
        return Set(polled.filter { $0.revents != 0 }.map(\.fd))
    }
}
