// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import StatusWorkers

/// Looks at something of this host, in a process apart.
struct HostCheck: Check {
    private let settings: any HostLooking
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<HostCall, HostAnswer>

    var resource: CheckBudget.Resource { .look }

    @EventLoop init(_ settings: any HostLooking, _ order: SourceOrder) {
        self.settings = settings
        server = order.server
        timeout = order.schedule.timeout
        pool = order.environment.shared(HostWorkers.self).pool
    }

    func run() async throws -> CheckResult { try await look().result }

    /// Looks; returns what was found, and whether the disk, or what else was asked, has answered.
    func look() async throws -> (result: CheckResult, hasAnswered: Bool) {
        do {
            guard let answer = try await pool.run(HostCall(settings), of: server, within: timeout) else {
                return silence("timed out after \(TimeSpan.text(timeout))")
            }
            return (try answer.result.get(), true)
        } catch is WorkerLost {
            throw CheckFailure("the process of the check ended")
        } catch let error as StuckCheck {
            return silence("has not ended\(error.asWithOthers), and no new one is started")
        }
    }

    private func silence(_ how: String) -> (CheckResult, hasAnswered: Bool) {
        (CheckResult(.critical, "the check of \(settings.subject) \(how); its disk may not answer"), false)
    }
}

/// The workers that look at this host for all servers.
@EventLoop
private final class HostWorkers: SharedResource {
    let pool: WorkerPool<HostCall, HostAnswer>

    init(in environment: SourceEnvironment) {
        pool = WorkerPool(
            WorkerStarter(place: .ownProgram, role: .hostWorker, purpose: "look at this host"), keepsTime: false,
            endsAtOnce: true)
    }

    func close(within limit: Duration) async { await pool.close(within: limit) }
}
