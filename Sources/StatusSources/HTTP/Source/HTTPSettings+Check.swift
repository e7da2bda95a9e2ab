// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds
import StatusWorkers

extension HTTPSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        let request = HTTPRequest(
            self, userAgent: order.environment.userAgent, timeout: order.schedule.timeout)
        return HTTPCheck(request, of: order.server, pool: order.environment.shared(HTTPWorkers.self).pool)
    }
}

/// The workers that make the HTTP requests of all servers.
@EventLoop
private final class HTTPWorkers: SharedResource {
    let pool: HTTPPool

    init(in environment: SourceEnvironment) { pool = HTTPPool(.ownProgram, logger: environment.logger) }

    func close(within limit: Duration) async { await pool.close(within: limit) }
}
