// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc

/// A started worker: the connection to it, and its process, if that is a child of this one.
public typealias StartedWorker = (connection: OwnedDescriptor, process: ChildProcess?)

/// Starts workers, which are this program again.
public enum WorkerStart {
    /// Starts a worker at the other end of the connection that it returns.
    ///
    /// Blocks until the worker's program is executed.
    ///
    /// - Parameter program: the path of statusd; by default, this process's own program.
    /// - Throws: ``IOError`` if it cannot be started.
    public static func connect(
        _ role: WorkerRole, program: String = ownProgram
    ) throws(IOError) -> StartedWorker {
        let (ours, theirs) = try UnixSocket.makePair()
        do throws(ProcessStart.Failure) {
            let process = try start(role, on: theirs, program: program)
            return (ours, ChildProcess(process))
        } catch {
            throw IOError(errno: error.number, "cannot start a worker")
        }
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
