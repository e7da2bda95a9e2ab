// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// A reader of the event log: a cursor, and nothing else.
///
/// It is asked for the next event when there is room to write it. What is due is decided then, not when it happened: so what
/// is written is never of a server that is selected no more, and a reader who is slow costs nobody anything. The reader is
/// removed with the last reference to it.
public final class Watch: Sendable {
    private let id: Int
    private let monitor: StatusMonitor

    init(id: Int, monitor: StatusMonitor) {
        self.id = id
        self.monitor = monitor
    }

    deinit { monitor.unwatch(id) }

    /// The next event; nil where there is nothing to say now.
    ///
    /// Then `onEvents` is called when there is again.
    ///
    /// Behind a snapshot of all servers, these are read with ``nextServers(limit:)``, to the last, before the next event.
    public func next() -> Event? { monitor.next(id) }

    /// The next servers of a snapshot of all, by name, as they are now; nil behind the last one.
    ///
    /// So a snapshot is never in memory as a whole. What happens to a server before it is read here is no event any more; what happens
    /// to it afterwards is one behind the snapshot.
    public func nextServers(limit: Int) -> [ServerState]? { monitor.nextServers(id, limit: limit) }
}
