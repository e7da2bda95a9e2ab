// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

enum SignalHandling {
    /// The signals that end the daemon.
    static let terminating = [SIGTERM, SIGINT].filter { !SignalSource.isIgnored($0) }
    static let signals = [SIGHUP] + terminating

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
