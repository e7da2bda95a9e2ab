// SPDX-License-Identifier: Apache-2.0

package import EventLoopIO
import Glibc
package import StatusModel
package import StatusWorkers

/// Runs other programs than plugins, in workers of their own.
@EventLoop
package final class ProgramRunner {
    private let pool: WorkerPool<PluginCall>

    /// - Parameters:
    ///   - executor: the executor that runs them; nil for child processes of the daemon.
    ///   - service: the name of its service, for messages.
    package init(executor: UnixAddress?, service: String) {
        pool = WorkerPool(
            .plugins(executor.map { .executor($0, service: service) } ?? .ownProgram, purpose: "run receivers"))
    }

    /// Runs a program, once; returns nil if its worker did not answer in time.
    ///
    /// - Throws: ``CheckFailure`` if it was not started.
    package func run(_ call: PluginCall, for name: ServerName) async throws(CheckFailure) -> PluginOutcome? {
        let limit = Duration.milliseconds(call.timeout) + PluginWorker.lateness
        do {
            return try await pool.run(call, of: name, within: limit, mayRepeat: false)
        } catch let error as CheckFailure {
            throw error
        } catch let error as StuckCheck {
            throw CheckFailure(error.description)
        } catch is WorkerLost {
            // The program has ended with its worker.
            return PluginOutcome(.signaled(Int(SIGKILL)))
        } catch {
            return nil
        }
    }

    /// Ends all programs, and waits for at most `limit` until they have ended.
    package func close(within limit: Duration) async { await pool.close(within: limit) }
}
