// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import Varlink

/// The watchdog's probe: two clients inside the daemon's process, one that posts and one that watches.
///
/// Like the messages of every client, probes pass through sockets, the loop, the log and a notification. No probe
/// arrives if the loop is stuck, or if it does not read, write or wake its streams.
@EventLoop
final class WatchdogProbe {
    private struct Clients {
        let poster: VarlinkConnection
        var watcher: VarlinkReplies<MonitorInterface.PostReply>.Iterator
    }

    private let service: VarlinkService
    private var clients: Clients?

    init(through service: VarlinkService) { self.service = service }

    /// Sends a probe and waits for it; returns whether it arrived.
    ///
    /// If something on the way is stuck, it returns only when its task is cancelled, with false.
    func travel() async -> Bool {
        do {
            var clients = try clients ?? connect()
            self.clients = nil
            let posted = try await clients.poster.call(
                "\(ProbeInterface.name).Post", returning: MonitorInterface.PostReply.self, timeout: nil)
            while let seen = try await clients.watcher.next() {
                guard seen.revision >= posted.revision else { continue }
                self.clients = clients
                return true
            }
        } catch {
            // The connections are closed; the next probe opens new ones.
        }
        return false
    }

    private func connect() throws -> Clients {
        let watcher = try client().stream(
            "\(ProbeInterface.name).Watch", of: MonitorInterface.PostReply.self, timeout: nil)
        return Clients(poster: try client(), watcher: watcher.makeAsyncIterator())
    }

    private func client() throws -> VarlinkConnection {
        let (ours, theirs) = try UnixSocket.makePair()
        service.add(theirs, isInternal: true)
        return try VarlinkConnection(ours)
    }
}
