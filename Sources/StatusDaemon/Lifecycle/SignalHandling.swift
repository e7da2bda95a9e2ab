// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

enum SignalHandling {
    static let signals = [SIGHUP, SIGTERM, SIGINT]

    /// Calls `reload` on each SIGHUP, and `terminate` on SIGTERM or SIGINT, after which it returns.
    @EventLoop
    static func run(reload: @EventLoop () -> Void, terminate: @EventLoop () -> Void) async throws {
        let (received, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = try signals.map { signal in try SignalSource(signal) { continuation.yield($0) } }
        defer { for source in sources { source.cancel() } }
        for await signal in received {
            guard signal == SIGHUP else { return terminate() }
            reload()
        }
    }
}
