// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import StatusWorkers
public import Systemd

/// Makes HTTP requests by way of workers, processes apart, which load libcurl: one for all requests, as long as all goes well.
///
/// If that one ends or does not answer, one of the requests in it is to blame, and it is not known which. So each of them is made again in a worker of
/// its own, and so are the next ones for the same server.
@EventLoop
public final class HTTPPool {
    /// How long a worker may take to start, which is not the server's fault.
    private static let startLimit = Duration.seconds(5)
    /// How long the worker for all is kept without a request.
    private static let keptIdle = Duration.seconds(300)
    /// After so many requests there is another one: what libcurl may have lost of its memory is not lost for ever.
    private static let maximumRequests = 10_000
    /// How many requests have a worker of their own at a time.
    private static let maximumAlone = 8
    /// How long a worker that did not answer may take to end before it is said that it does not.
    private static let patience = Duration.seconds(1)
    /// How many requests of a server are made apart after one that may have ended its worker.
    private static let probation = 10

    private let starter: WorkerStarter
    private var shared: HTTPRunner?
    private lazy var start = SharedLoad(name: "worker for HTTP") { [weak self] in try await self?.startShared() }
    private let alone = CheckBudget(CheckBudget.Limits(checks: maximumAlone, processes: maximumAlone))
    /// The servers whose requests are made apart, and how many of these are left.
    private var suspects: [ServerName: Int] = [:]
    /// The workers that do not answer and have not ended yet, by the server that they were for.
    private var ending: [ServerName: HTTPRunner] = [:]
    private var timer: TimerSource?

    /// A pool without workers.
    public init(_ place: WorkerPlace) {
        starter = WorkerStarter(place: place, role: .httpWorker, purpose: "make HTTP requests")
    }

    /// Makes a request for a server.
    ///
    /// - Throws: ``CheckFailure`` if it cannot be made, `CancellationError`.
    func perform(_ request: HTTPRequest, of server: ServerName) async throws -> HTTPOutcome {
        if suspects[server] == nil {
            if let outcome = try await sharedRunner().perform(request) { return outcome }
            suspects[server] = Self.probation
        }
        return try await alone.run(CheckBudget.Claim(.process)) { try await self.performAlone(request, of: server) }
    }

    // MARK: One worker for all

    private func sharedRunner() async throws -> HTTPRunner {
        keepShared()
        if let shared, shared.isReady, shared.count < Self.maximumRequests { return shared }
        shared?.finish()
        shared = nil
        guard let runner = try await start.load() else { throw CancellationError() }
        return runner
    }

    private func startShared() async throws -> HTTPRunner {
        let runner = HTTPRunner(try await starter.start(within: Self.startLimit))
        shared = runner
        return runner
    }

    private func keepShared() {
        timer = timer ?? (try? TimerSource(accuracy: .seconds(10)) { [weak self] in self?.endShared() })
        timer?.schedule(after: Self.keptIdle)
    }

    private func endShared() {
        shared?.finish()
        shared = nil
    }

    // MARK: A worker for one

    private func performAlone(_ request: HTTPRequest, of server: ServerName) async throws -> HTTPOutcome {
        guard try await hasPredecessorEnded(of: server) else {
            return .unexpected(reason: "the process that makes its request does not end; no other is started")
        }
        let runner = HTTPRunner(try await starter.start(within: Self.startLimit))
        defer { runner.finish() }
        guard let outcome = try await runner.perform(request) else {
            suspects[server] = Self.probation
            keep(runner, of: server)
            return .unexpected(reason: Self.blame(request, runner))
        }
        let left = suspects[server, default: 1] - 1
        suspects[server] = left > 0 ? left : nil
        return outcome
    }

    private func hasPredecessorEnded(of server: ServerName) async throws -> Bool {
        guard let runner = ending[server] else { return true }
        let ended: Void? = await TimedWait.run(within: Self.patience) { end in runner.whenEnded { end(()) } }
        try Task.checkCancellation()
        return ended != nil
    }

    /// Keeps a worker that has not answered until it has ended.
    private func keep(_ runner: HTTPRunner, of server: ServerName) {
        ending[server] = runner
        runner.whenEnded { [weak self, weak runner] in
            guard let self, let runner, ending[server] === runner else { return }
            ending[server] = nil
        }
    }

    /// A phrase for why there is no answer of a worker that made this request alone.
    private static func blame(_ request: HTTPRequest, _ runner: HTTPRunner) -> String {
        let disk = request.certificateAuthority.map { "\($0) is on a disk that does not answer" }
        if runner.hasEnded {
            return "the answer is more than the process that reads it can take" + (disk.map { ", or \($0)" } ?? "")
        }
        return "timed out after \(TimeSpan.text(request.timeout))" + (disk.map { "; perhaps \($0)" } ?? "")
    }
}
