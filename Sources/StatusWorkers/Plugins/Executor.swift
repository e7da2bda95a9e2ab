// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import SystemdClient

/// The service that runs plugins separately from the daemon, as another user and in its own sandbox.
///
/// It starts one worker for each connection.
public struct Executor {
    /// The `FileDescriptorName=` of its socket unit.
    private static let socketName = "executor"
    /// How long it may take to kill the processes that a killed worker left.
    private static let patience = Duration.seconds(1)
    /// The maximum number of dead processes to reap in one turn: a plugin can leave any number of them.
    private static let maximumDeadPerTurn = 256

    /// How long this process may be stopped.
    private static let stopLimit = Duration.seconds(3)

    private let listeners: [OwnedDescriptor]
    private let signals: OwnedDescriptor
    private let limits = ResourceLimits.current
    private var workers: Set<pid_t> = []
    /// The time since when processes of killed workers have existed.
    private var orphansSince: ContinuousClock.Instant?

    /// Runs in this process until SIGTERM.
    public static func run() -> Never {
        Descendants.adoptOrphans()
        let listeners = ListeningSockets.inherited.take(named: socketName)
        guard !listeners.isEmpty, let signals = Signals.take() else {
            fail("“statusd executor” must be started by systemd; run “systemctl start statusd-executor.socket”")
            exit(64)
        }
        var executor = Executor(listeners: listeners, signals: signals)
        executor.serve()
        // systemd ends the workers.
        exit(0)
    }

    private init(listeners: [OwnedDescriptor], signals: OwnedDescriptor) {
        self.listeners = listeners
        self.signals = signals
    }

    private mutating func serve() {
        var isReady = false
        while true {
            // systemd's socket may be full. Workers do not wait for that: the messages are repeated soon.
            isReady = isReady || ServiceManager.notifyNow(.ready)
            let hasSentKeepAlive = ServiceManager.notifyNow(.watchdog)
            var polled = (listeners + [signals]).map { pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0) }
            let pause = orphansSince == nil && isReady && hasSentKeepAlive ? Self.watchdogPause : 100
            let began = SuspendingClock.now
            poll(&polled, nfds_t(polled.count), pause)
            if Signals.takeEnd(from: signals) { return }
            checkLimits()
            if pause >= 0 { checkPause(of: .milliseconds(Int(pause)), since: began) }
            removeDead()
            for listener in listeners { startWorkers(for: listener) }
        }
    }

    /// The pause between keep-alives, in milliseconds; -1, which means no limit, without a watchdog.
    private static var watchdogPause: Int32 {
        ServiceManager.watchdogInterval.map { Int32(clamping: Int($0 / .milliseconds(2))) } ?? -1
    }

    private mutating func startWorkers(for listener: OwnedDescriptor) {
        while true {
            let descriptor = accept4(listener.rawValue, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
            if descriptor < 0 {
                if [EAGAIN, EINTR, ECONNABORTED].contains(errno) { return }
                Self.fail("cannot accept connections: \(String(cString: strerror(errno)))")
                exit(1)
            }
            // The worker has its own copy.
            let connection = OwnedDescriptor(adopting: descriptor)
            do throws(ProcessStart.Failure) {
                workers.insert(try WorkerStart.start(.pluginWorker, on: connection))
            } catch {
                // The caller gets the reason instead of the greeting.
                let answer = WorkerMessage.encode(WorkerGreeting(refusal: "cannot start a worker: \(error)"))
                send(connection.rawValue, answer, answer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                Self.fail("cannot start a worker: \(error)")
                exit(1)
            }
        }
    }

    /// Removes workers that have ended, and kills stopped workers and the processes that killed workers left.
    private mutating func removeDead() {
        for _ in 0..<Self.maximumDeadPerTurn {
            var status: Int32 = 0
            let changed = waitpid(-1, &status, WNOHANG | WUNTRACED)
            guard changed > 0 else { break }
            let isStopped = status & 0xff == 0x7f
            if !isStopped { workers.remove(changed) } else if workers.contains(changed) { kill(changed, SIGKILL) }
        }
        Descendants.kill(except: workers)
        checkOrphans()
    }

    /// Ends this process if a plugin has lowered its resource limits, which new workers would inherit.
    private func checkLimits() {
        if limits == .current { return }
        Self.fail("a plugin lowered the limits of the executor; restarting")
        exit(1)
    }

    /// Ends this process if a pause took much too long.
    ///
    /// A plugin may stop this process, and let it continue just in time for the watchdog.
    private func checkPause(of length: Duration, since began: SuspendingClock.Instant) {
        if began.duration(to: .now) < length + Self.stopLimit { return }
        Self.fail("a plugin stopped the executor, or the system was too slow; restarting")
        exit(1)
    }

    /// Ends this process if the processes of killed workers multiply faster than it can kill them.
    ///
    /// systemd then kills the whole service at once and restarts it.
    private mutating func checkOrphans() {
        guard Descendants.children().contains(where: { !workers.contains($0) }) else { return orphansSince = nil }
        let since = orphansSince ?? .now
        orphansSince = since
        if since.duration(to: .now) < Self.patience { return }
        Self.fail("cannot kill the processes that a plugin left; restarting")
        exit(1)
    }

    /// Logs a message, unless that would block.
    private static func fail(_ message: String) {
        let text = Array("statusd: \(message)\n".utf8)
        let sent = send(STDERR_FILENO, text, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        if sent < 0, errno == ENOTSOCK { _ = write(STDERR_FILENO, text, text.count) }
    }
}
