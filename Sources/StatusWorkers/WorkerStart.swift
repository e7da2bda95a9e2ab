// SPDX-License-Identifier: Apache-2.0

import CLinux
package import EventLoopIO
import Glibc

/// The roles of statusd other than the daemon, selected by the first argument.
public enum WorkerRole: String, Sendable {
    case executor
    case pluginWorker = "plugin-worker"
    case httpWorker = "http-worker"
    case dnsWorker = "dns-worker"
    case lookUpWorker = "lookup-worker"
    case hostWorker = "host-worker"
    /// One check of this host, in the sandbox of plugins.
    case hostCheck = "host-check"

    /// Reads the role from a command line; nil for the daemon.
    public init?(commandLine: [String]) {
        guard commandLine.count == 2 else { return nil }
        self.init(rawValue: commandLine[1])
    }

    public func prepare() {
        // Plugins run as the same user, and must not read this process's memory.
        _ = linux_refuse_tracers()
        pthread_setname_np(pthread_self(), "statusd-\(name)")
    }

    /// The suffix of the name in ps(1), at most seven letters.
    private var name: String {
        switch self {
        case .executor: "exec"
        case .pluginWorker: "plugin"
        case .httpWorker: "http"
        case .dnsWorker: "dns"
        case .lookUpWorker: "lookup"
        case .hostWorker: "host"
        case .hostCheck: "check"
        }
    }
}

/// A started worker: the connection to it, and its process if it is a child of this process.
package typealias StartedWorker = (connection: OwnedDescriptor, process: ChildProcess?)

/// Starts workers, which run this program in another role.
public enum WorkerStart {
    /// Starts a worker and returns the connection to it.
    ///
    /// It blocks until the worker's program is executed.
    ///
    /// - Parameter program: the path of statusd; by default, the program of this process.
    /// - Throws: ``IOError`` if it cannot be started.
    package static func connect(
        _ role: WorkerRole, program: String = ownProgram
    ) throws(IOError) -> StartedWorker {
        let (ours, theirs) = try UnixSocket.makePair()
        do throws(ProcessStart.Failure) {
            return (ours, try ChildProcess(start(role, on: theirs, program: program)))
        } catch {
            throw IOError(errno: error.number, "cannot start a worker")
        }
    }

    /// Starts a worker only to ask whether it takes calls; returns why it does not, or nil.
    ///
    /// It blocks until the worker has answered, for at most two seconds.
    public static func refusal(of role: WorkerRole) -> String? {
        guard let (ours, theirs) = try? UnixSocket.makePair(), let process = try? start(role, on: theirs)() else {
            return nil
        }
        var polled = pollfd(fd: ours.rawValue, events: Int16(POLLIN), revents: 0)
        poll(&polled, 1, 2000)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(ours.rawValue, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        kill(process, SIGKILL)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
        let message = bytes.prefix(max(0, count)).prefix { $0 != 0 }
        let greeting = message.withUnsafeBytes { try? WorkerMessage.decode(WorkerGreeting.self, from: $0) }
        return greeting?.refusal
    }

    /// The program of this process, even if its file was replaced.
    public static let ownProgram = "/proc/self/exe"

    static func start(
        _ role: WorkerRole, on connection: OwnedDescriptor, program: String = ownProgram
    ) -> ProcessStart {
        ProcessStart(
            path: program, arguments: ["statusd", role.rawValue], environment: nil,
            streams: [STDIN_FILENO: connection.rawValue])
    }
}
