// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A program that was started for one connection, and ends with it.
@EventLoop
final class ServiceProcess {
    /// A program, and how it gets its end of the connection.
    struct Program: Sendable {
        enum Form: Sendable {
            /// As descriptor 3, named `varlink`, as if systemd had started it for a connection (sd_listen_fds(3)).
            ///
            /// varlinkctl(1) does the same. The program leads its own process group.
            case service
            /// As its standard input and output.
            ///
            /// It stays in this process's group, because only this group may read from the terminal.
            case bridge
        }

        var path: String
        var arguments: [String]
        var form: Form
        /// Its standard error; nil for this process's own.
        var errorOutput: OwnedDescriptor?

        /// Describes its start.
        fileprivate func start(on connection: Int32) -> ProcessStart {
            let errors = errorOutput.map { [STDERR_FILENO: $0.rawValue] } ?? [:]
            guard form == .service else {
                return ProcessStart(
                    path: path, arguments: [path] + arguments,
                    streams: errors.merging([0: connection, 1: connection]) { $1 }, leadsGroup: false)
            }
            var environment = ProcessEnvironment.current
            environment["LISTEN_FDS"] = "1"
            environment["LISTEN_FDNAMES"] = "varlink"
            return ProcessStart(
                path: "/bin/sh", arguments: ["sh", "-c", script, path] + arguments, environment: environment,
                streams: errors.merging([3: connection]) { $1 })
        }
    }

    /// The target of signals: the group that the process leads, or only the process.
    private let target: pid_t
    private var state: State

    private enum State {
        case running(ChildProcess)
        /// It got SIGTERM, and gets SIGKILL from the timer.
        case ending(ChildProcess, TimerSource?)
        case ended
    }

    /// How long a service may take to end after SIGTERM.
    private static let grace = Duration.seconds(5)
    /// Sets the variable that must contain the process's own number, then becomes the service.
    private nonisolated static let script = "export LISTEN_PID=$$; exec \"$0\" \"$@\""

    /// Starts a program and returns the connection to it.
    ///
    /// A separate thread waits until the program has been executed, because its disk may be slow.
    static func start(
        _ program: Program, within limit: Duration
    ) async throws(IOError) -> (connection: OwnedDescriptor, process: ServiceProcess) {
        let (ours, theirs) = try UnixSocket.makePair()
        // The program may not expect a non-blocking socket.
        _ = fcntl(theirs.rawValue, F_SETFL, 0)
        let start = Start()
        let started = await TimedWait<Result<ServiceProcess, IOError>>.run(within: limit) { end in
            BlockingThread.start {
                let spawned = Result { () throws(IOError) in try spawn(program, on: theirs) }
                EventLoop.perform { end(spawned.map { start.take(ServiceProcess($0, program.form)) }) }
            }
        }
        guard let started else {
            start.abandon()
            throw IOError(.timedOut, "cannot start \(program.path): timed out")
        }
        return (ours, try started.get())
    }

    /// A start that may be abandoned before the process exists.
    @EventLoop
    private final class Start {
        private enum State { case starting, started(ServiceProcess), abandoned }

        private var state = State.starting

        func take(_ process: ServiceProcess) -> ServiceProcess {
            if case .abandoned = state { process.end() } else { state = .started(process) }
            return process
        }

        func abandon() {
            if case .started(let process) = state { process.end() }
            state = .abandoned
        }
    }

    private nonisolated static func spawn(
        _ program: Program, on connection: OwnedDescriptor
    ) throws(IOError) -> ChildProcess {
        let path = program.path
        // Otherwise the shell would write to standard error.
        guard access(path, X_OK) == 0 else { throw IOError(errno: errno, "cannot start \(path)") }
        do throws(ProcessStart.Failure) {
            return try ChildProcess(program.start(on: connection.rawValue))
        } catch {
            throw IOError(errno: error.number, "cannot start \(path)")
        }
    }

    private init(_ process: ChildProcess, _ form: Program.Form) {
        state = .running(process)
        target = form == .service ? -process.number : process.number
        // Also keeps this object alive until then.
        process.whenEnded { self.hasEnded() }
    }

    /// Ends the process with SIGTERM, and after the grace period with SIGKILL.
    func end() {
        guard case .running(let process) = state else { return }
        kill(target, SIGTERM)
        let killTimer = try? TimerSource { [target] in kill(target, SIGKILL) }
        if let killTimer { killTimer.schedule(after: Self.grace) } else { kill(target, SIGKILL) }
        state = .ending(process, killTimer)
    }

    private func hasEnded() {
        // Also ends the processes that it started, while the group still has its number.
        kill(target, SIGKILL)
        if case .ending(_, let killTimer) = state { killTimer?.cancel() }
        state = .ended
    }
}
