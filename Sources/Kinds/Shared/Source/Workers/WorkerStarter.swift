// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusWorkers

enum WorkerPlace {
    /// The executor that listens at this address; its service and socket have this name.
    case executor(UnixAddress, service: String = "statusd-executor")
    /// This process; the workers are children that run the statusd at this path.
    case program(String)

    /// This process; the workers are children that run its own program.
    static let ownProgram = WorkerPlace.program(WorkerStart.ownProgram)
}

@EventLoop
struct WorkerStarter {
    /// How many workers to start if each ends before it is ready.
    private static let maximumStarts = 3

    let place: WorkerPlace
    let role: WorkerRole
    /// The purpose of the workers after “cannot”, such as `run plugins`.
    let purpose: String
    /// Whether a worker may be killed at any time because it starts no processes.
    var endsAtOnce = true
    /// Logs that a worker ended unexpectedly; nil to log nothing.
    var losses: LogLimiter?

    /// Starts a worker, and waits until it is ready.
    ///
    /// - Throws: ``CheckFailure`` if no worker can be started; `CancellationError`.
    func start<Answer>(within limit: Duration) async throws -> Worker<Answer> {
        let deadline = ContinuousClock.now + limit
        for _ in 0..<Self.maximumStarts {
            let worker: Worker<Answer> = try await connect(until: deadline)
            switch await TimedWait.run(within: deadline - .now, { worker.whenStarted($0) }) {
            case .ready: return worker
            case .refused(let reason): throw failure(reason)
            case .ended: continue
            case nil:
                // The worker has no call yet, so nothing needs cleaning up.
                worker.stop(atOnce: true)
                try Task.checkCancellation()
                throw silence("does not answer")
            }
        }
        throw silence("ends repeatedly")
    }

    private func connect<Answer>(until deadline: ContinuousClock.Instant) async throws -> Worker<Answer> {
        do throws(IOError) {
            return try Worker(try await begin(within: deadline - .now))
        } catch {
            try Task.checkCancellation()
            throw failure(error.message)
        }
    }

    private func begin(within limit: Duration) async throws(IOError) -> StartedWorker {
        switch place {
        case .executor(let address, let service):
            do throws(IOError) {
                return (try await UnixSocket.connect(to: address, timeout: limit), nil)
            } catch {
                throw IOError(
                    error.code,
                    "\(error.message); see “systemctl status \(service).socket”, or restart it"
                )
            }
        case .program(let program):
            let role = role
            let worker = await BlockingThread.run(within: limit) {
                Result { () throws(IOError) in try WorkerStart.connect(role, program: program) }
            }
            guard let worker else {
                throw IOError(.timedOut, "cannot start a process in time; the system may have too many processes")
            }
            return try worker.get()
        }
    }

    private func silence(_ what: String) -> CheckFailure {
        switch place {
        case .executor(_, let service): failure("the executor \(what); see “systemctl status \(service)”")
        case .program: failure("the worker \(what)")
        }
    }

    private func failure(_ reason: String) -> CheckFailure { CheckFailure("cannot \(purpose): \(reason)") }
}
