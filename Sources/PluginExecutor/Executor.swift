// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Systemd

/// The service that runs plugins apart from the daemon, as another user and in a sandbox of its own: a worker for each connection.
struct Executor {
    /// The name of its socket, the `FileDescriptorName=` of the socket unit.
    private static let socketName = "executor"

    private let listeners: [OwnedDescriptor]
    private let signals: OwnedDescriptor
    private var workers: Set<pid_t> = []

    /// Runs in this process until SIGTERM.
    static func run() -> Never {
        Descendants.adoptOrphans()
        let listeners = ListeningSockets.take(named: socketName)
        guard !listeners.isEmpty, let signals = Signals.take() else {
            fail("“statusd executor” is started by the service manager; run “systemctl start statusd-executor.socket”")
            exit(64)
        }
        var executor = Executor(listeners: listeners, signals: signals)
        executor.serve()
        // The service manager ends the workers.
        exit(0)
    }

    private init(listeners: [OwnedDescriptor], signals: OwnedDescriptor) {
        self.listeners = listeners
        self.signals = signals
    }

    private mutating func serve() {
        while true {
            var polled = (listeners + [signals]).map { pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0) }
            poll(&polled, nfds_t(polled.count), -1)
            if Signals.takeEnd(from: signals) { return }
            removeDead()
            for listener in listeners { startWorkers(for: listener) }
        }
    }

    private mutating func startWorkers(for listener: OwnedDescriptor) {
        while case let descriptor = accept4(listener.rawValue, nil, nil, Int32(SOCK_CLOEXEC.rawValue)), descriptor >= 0
        {
            // Closed here, it lives on in the worker.
            let connection = OwnedDescriptor(adopting: descriptor)
            do throws(ProcessStart.Failure) {
                workers.insert(try WorkerStart.start(on: connection))
            } catch {
                // Its caller is told.
                let answer = PluginMessage.encode(PluginOutcome(.notStarted("no process for it: \(error)")))
                send(connection.rawValue, answer, answer.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
        }
    }

    /// Forgets workers that have ended, and kills what one left that was killed.
    private mutating func removeDead() {
        while case let dead = waitpid(-1, nil, WNOHANG), dead > 0 { workers.remove(dead) }
        for orphan in Descendants.children() where !workers.contains(orphan) { kill(orphan, SIGKILL) }
    }

    private static func fail(_ message: String) {
        let text = Array("statusd: \(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
    }
}
