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

    private let listeners: [OwnedDescriptor]
    private let signals: OwnedDescriptor
    private var workers: Set<pid_t> = []

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
            poll(&polled, nfds_t(polled.count), isReady && hasSentKeepAlive ? Self.watchdogPause : 100)
            if Signals.takeEnd(from: signals) { return }
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
                workers.insert(try WorkerStart.start(.pluginWorker, on: connection)())
            } catch {
                // The caller gets the reason instead of the greeting.
                let answer = WorkerMessage.encode(WorkerGreeting(refusal: "cannot start a worker: \(error)"))
                send(connection.rawValue, answer, answer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                Self.fail("cannot start a worker: \(error)")
                exit(1)
            }
        }
    }

    /// Removes workers that have ended, and kills the processes that killed workers left.
    private mutating func removeDead() {
        while case let dead = waitpid(-1, nil, WNOHANG), dead > 0 { workers.remove(dead) }
        Descendants.kill(except: workers)
    }

    /// Logs a message, unless that would block.
    private static func fail(_ message: String) {
        let text = Array("statusd: \(message)\n".utf8)
        let sent = send(STDERR_FILENO, text, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        if sent < 0, errno == ENOTSOCK { _ = write(STDERR_FILENO, text, text.count) }
    }
}
