// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import StatusModel
import StatusWorkers

/// `exec: [/path, argument]`: runs a plugin by the Nagios plugin interface.
///
/// The exit status says the level, the first line up to `|` the text
/// (<https://www.monitoring-plugins.org/doc/guidelines.html>). It runs in a worker, a process apart (``PluginPool``), which ends with it all that
/// it leaves behind.
public struct ExecCheck: Check {
    /// The path of the plugin, and its arguments.
    let command: [String]
    /// Whose status it finds out.
    let server: ServerName
    /// How long it may run.
    let timeout: Duration
    /// Where it runs.
    let pool: PluginPool

    public var resource: CheckBudget.Resource { .process }

    /// A check that runs `command`.
    public init(command: [String], server: ServerName, timeout: Duration, pool: PluginPool) {
        self.command = command
        self.server = server
        self.timeout = timeout
        self.pool = pool
    }

    public func run() async throws -> CheckResult {
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
