// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds

extension ExecSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        ExecCheck(
            command: command, server: order.server, timeout: order.schedule.timeout,
            pool: order.environment.shared(PluginWorkers.self).pool)
    }
}

/// The workers that run the plugins of all servers.
@EventLoop
private final class PluginWorkers: SharedResource {
    let pool: PluginPool

    init(in environment: SourceEnvironment) {
        pool = PluginPool(environment.paths.executor.map { .executor($0) } ?? .ownProgram)
    }

    func close(within limit: Duration) async { await pool.close(within: limit) }
}
