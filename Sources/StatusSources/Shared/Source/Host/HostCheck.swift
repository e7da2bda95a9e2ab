// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import StatusWorkers

/// Looks at something on this host, in a worker.
struct HostCheck: Check {
    private let settings: any HostLooking
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<HostCall>

    var resource: CheckBudget.Resource { .look }

    @EventLoop init(_ settings: any HostLooking, _ order: SourceOrder) {
        self.settings = settings
        server = order.server
        timeout = order.schedule.timeout
        pool = order.environment.shared(WorkerPool<HostCall>.self)
    }

    func run() async throws -> CheckResult { try await look().result }

    /// Returns the result, and whether the disk or other resource has answered.
    func look() async throws -> (result: CheckResult, hasAnswered: Bool) {
        do {
            guard let answer = try await pool.run(HostCall(settings), of: server, within: timeout) else {
                return silence("timed out after \(TimeSpan.text(timeout))")
            }
            return (try answer.result.get(), true)
        } catch is WorkerLost {
            throw CheckFailure("the process of the check ended")
        } catch let error as StuckCheck {
            return silence("does not end\(error.asWithOthers), and no new one is started")
        }
    }

    private func silence(_ how: String) -> (CheckResult, hasAnswered: Bool) {
        (CheckResult(.critical, "the check of \(settings.nameOfSubject) \(how); the disk may not answer"), false)
    }
}

extension HostCall: WorkerCall {
    typealias Answer = HostAnswer

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(place: .ownProgram, role: .hostWorker, purpose: "look at this host")
    }
}
