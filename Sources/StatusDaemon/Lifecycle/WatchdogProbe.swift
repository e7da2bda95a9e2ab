// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Varlink

/// The watchdog's probe: two clients of the daemon on connections inside the process, of which one posts and one
/// watches.
///
/// Their messages pass through sockets, the loop, the log and a notification, like those of every client. A loop that
/// is stuck, or does not read, does not write or does not wake its streams, lets no probe through.
@EventLoop
final class WatchdogProbe {
    private struct Revision: JSONReadable, Sendable {
        var revision: Int

        init(from reader: inout JSONReader) throws(JSONError) {
            var revision: Int?
            try reader.object { _, reader throws(JSONError) in revision = try Int(from: &reader) }
            guard let revision else { throw .missingMember("revision") }
            self.revision = revision
        }
    }

    private struct Clients {
        let poster: VarlinkConnection
        var watcher: VarlinkReplies<Revision>.Iterator
    }

    private let service: VarlinkService
    private var clients: Clients?

    /// Creates a probe of a service that has a ``ProbeInterface``.
    init(through service: VarlinkService) { self.service = service }

    /// Sends a probe and waits for it; returns whether it arrived.
    ///
    /// If something on the way is stuck, it does not return until its task is cancelled; then it returns false.
    func travel() async -> Bool {
        do {
            var clients = try clients ?? connect()
            self.clients = nil
            let posted = try await clients.poster.call("\(ProbeInterface.name).Post", returning: Revision.self)
            while let seen = try await clients.watcher.next() {
                guard seen.revision >= posted.revision else { continue }
                self.clients = clients
                return true
            }
        } catch {
            // The connections are closed; the next probe gets new ones.
        }
        return false
    }

    private func connect() throws -> Clients {
        let watcher = try client().stream("\(ProbeInterface.name).Watch", of: Revision.self)
        return Clients(poster: try client(), watcher: watcher.makeAsyncIterator())
    }

    private func client() throws -> VarlinkConnection {
        let (ours, theirs) = try UnixSocket.makePair()
        service.add(theirs, isInternal: true)
        return try VarlinkConnection(ours)
    }
}
