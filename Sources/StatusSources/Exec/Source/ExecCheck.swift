// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusModel
import StatusWorkers

/// `exec: [/path, argument]`: runs a plugin of the Nagios plugin interface.
///
/// The exit status is the level, and the first line up to `|` is the text
/// (<https://www.monitoring-plugins.org/doc/guidelines.html>). A worker, which is a separate process, runs the plugin,
/// and ends every process that the plugin leaves behind.
struct ExecCheck: Check {
    /// The path of the plugin, and its arguments.
    let command: [String]
    let server: ServerName
    let timeout: Duration
    let pool: WorkerPool<PluginCall>

    var resource: CheckBudget.Resource { .process }

    func run() async throws -> CheckResult {
        do {
            let call = PluginCall(command: command)
            guard let outcome = try await pool.run(call, of: server, within: timeout) else {
                // As Nagios does by default (service_check_timeout_state), and as tcp and http do.
                return CheckResult(.critical, "timed out after \(TimeSpan.text(timeout))")
            }
            return try outcome.result(of: command[0])
        } catch is WorkerLost {
            throw CheckFailure("cannot run \(command[0]): its worker ended")
        } catch let error as StuckCheck {
            return CheckResult(
                .critical, "the process of the last check does not end\(error.asWithOthers); no new one is started")
        }
    }
}

extension ExecSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        ExecCheck(
            command: command, server: order.server, timeout: order.schedule.timeout,
            pool: order.environment.shared(WorkerPool<PluginCall>.self))
    }
}

extension PluginCall: WorkerCall {
    typealias Answer = PluginOutcome

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        .plugins(environment.executor.map { .executor($0) } ?? .ownProgram)
    }
}

extension WorkerStarter {
    /// Workers that run plugins; before a worker ends, it ends its plugin and all processes that this has started.
    static func plugins(_ place: WorkerPlace) -> WorkerStarter {
        WorkerStarter(place: place, role: .pluginWorker, purpose: "run plugins", endsAtOnce: false)
    }
}
