// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Systemd

/// Starts workers, which are this program again.
public enum WorkerStart {
    /// Starts a worker of some kind at the other end of the connection that it returns.
    ///
    /// Blocks until the worker's program has been executed.
    ///
    /// - Parameter program: the path of statusd; this process's own where nothing else is given.
    /// - Throws: ``SystemdError`` if there can be none.
    public static func connect(
        _ role: WorkerRole, program: String = ownProgram
    ) throws(SystemdError) -> OwnedDescriptor {
        let (ours, theirs) = try UnixSocket.makePair()
        do throws(ProcessStart.Failure) {
            _ = try start(role, on: theirs, program: program)
        } catch {
            throw SystemdError(errno: error.number, "cannot start a worker for it")
        }
        return ours
    }

    /// The program that this process runs, even if its file was replaced.
    public static let ownProgram = "/proc/self/exe"

    static func start(
        _ role: WorkerRole, on connection: OwnedDescriptor, program: String = ownProgram
    ) throws(ProcessStart.Failure) -> pid_t {
        let start = ProcessStart(
            path: program, arguments: ["statusd", role.rawValue], environment: nil,
            streams: [STDIN_FILENO: connection.rawValue])
        return try start()
    }
}
