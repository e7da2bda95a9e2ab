// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc

/// A worker that has been started, perhaps by another process.
public struct StartedWorker: Sendable {
    /// The connection to it.
    public var connection: OwnedDescriptor
    /// Its process, if that is a child of this one.
    public var process: ChildProcess?

    /// A worker with what belongs to it.
    public init(connection: OwnedDescriptor, process: ChildProcess? = nil) {
        self.connection = connection
        self.process = process
    }
}

/// Starts workers, which are this program again.
public enum WorkerStart {
    /// Starts a worker of some kind at the other end of the connection that it returns.
    ///
    /// Blocks until the worker's program has been executed.
    ///
    /// - Parameter program: the path of statusd; this process's own where nothing else is given.
    /// - Throws: ``IOError`` if there can be none.
    public static func connect(
        _ role: WorkerRole, program: String = ownProgram
    ) throws(IOError) -> StartedWorker {
        let (ours, theirs) = try UnixSocket.makePair()
        do throws(ProcessStart.Failure) {
            let process = try start(role, on: theirs, program: program)
            return StartedWorker(connection: ours, process: ChildProcess(process))
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
