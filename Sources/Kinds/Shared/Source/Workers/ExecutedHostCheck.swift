// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusModel
import StatusWorkers
import Varlink

/// Runs a check of this host where plugins run, because the daemon's own sandbox hides what it needs.
///
/// This program is the plugin: it reads the call from its standard input, and writes the answer.
struct ExecutedHostCheck: Check {
    let settings: any HostCheckMaking
    private let server: ServerName
    private let timeout: Duration
    private let pool: WorkerPool<PluginCall>

    var resource: CheckBudget.Resource { .process }

    @EventLoop init(_ settings: any HostCheckMaking, _ order: SourceOrder) {
        self.settings = settings
        (server, timeout) = (order.server, order.schedule.timeout)
        pool = order.environment.shared(WorkerPool<PluginCall>.self)
    }

    func run() async throws -> CheckResult {
        var call = PluginCall([WorkerStart.ownProgram, WorkerRole.hostCheck.rawValue], timeout: timeout)
        call.input = String(decoding: WorkerMessage.encode(HostCall(settings: settings)).dropLast(), as: UTF8.self)
        do {
            let outcome = try await pool.run(call, of: server, within: timeout + PluginWorker.lateness)
            return try result(outcome ?? PluginOutcome(.timedOut))
        } catch is WorkerLost {
            throw CheckFailure("the worker ended during the check")
        } catch let error as StuckCheck {
            return settings.silent("\(error)")
        }
    }

    private func result(_ outcome: PluginOutcome) throws(CheckFailure) -> CheckResult {
        switch outcome.ending {
        case .timedOut: return settings.timedOut(after: timeout)
        case .notStarted(let reason): throw CheckFailure("cannot start a process for the check: \(reason)")
        case .signaled, .exited:
            var output = outcome.output
            let answer = output.withUTF8 {
                try? WorkerMessage.decode(HostAnswer.self, from: UnsafeRawBufferPointer($0))
            }
            guard let answer else {
                throw CheckFailure("the process of the check gave no answer; restart statusd-executor.service")
            }
            return try answer.result.get()
        }
    }
}
