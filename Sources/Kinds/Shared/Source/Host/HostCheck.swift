// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import StatusWorkers

/// Checks something on this host, in a worker.
struct HostCheck: Check {
    private let settings: any HostCheckable
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<HostCall>

    var resource: CheckBudget.Resource { .file }

    @EventLoop init(_ settings: any HostCheckable, _ order: SourceOrder) {
        self.settings = settings
        server = order.server
        timeout = order.schedule.timeout
        pool = order.environment.shared(WorkerPool<HostCall>.self)
    }

    func run() async throws -> CheckResult { try await check().result }

    /// Returns the result, and whether the worker has answered.
    func check() async throws -> (result: CheckResult, hasAnswered: Bool) {
        do {
            guard let answer = try await pool.run(HostCall(settings), of: server, within: timeout) else {
                let time = TimeSpan.text(timeout)
                return noAnswer("the check of \(settings.subjectName) timed out after \(time); the disk may not answer")
            }
            return (try answer.result.get(), true)
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the check")
        } catch let error as StuckCheck {
            return noAnswer("\(error); the disk of \(settings.subjectName) may not answer")
        }
    }

    private func noAnswer(_ text: String) -> (CheckResult, hasAnswered: Bool) {
        (CheckResult(.critical, text), false)
    }
}

extension HostCall: WorkerCall {
    typealias Answer = HostAnswer

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        WorkerStarter(place: .ownProgram, role: .hostWorker, purpose: "check this host")
    }
}
