// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

/// The events that a reader wants.
public enum WatchTarget: Hashable, Sendable {
    /// The events of the currently selected server, and moves of the selection.
    case selected
    case server(ServerName)
    case all
    /// The events of some of all servers, and moves of the selection.
    ///
    /// With a level, the event with which a server leaves that level is one of them.
    case matching(ServerScope)
    case probe

    /// Which of all servers it is about.
    var scope: ServerScope { if case .matching(let scope) = self { scope } else { ServerScope() } }

    /// Whether its snapshots have several servers (``Watch/nextServers(limit:)``).
    public var isOfMany: Bool {
        switch self {
        case .all, .matching: true
        case .selected, .server, .probe: false
        }
    }
}

/// How soon a reader should read.
public enum WatchUrgency: Sendable {
    /// At the end of the turn, together with everything that is posted until then.
    case routine
    /// Now, because the log is about to overwrite events that the reader has not read yet.
    case overdue
}

/// A reader of the event log, which is only a cursor.
///
/// The owner requests the next event when there is room to write it, and only then is the event chosen. So no event of
/// a server that is no longer selected is written, and a slow reader does not delay others. The reader is removed with
/// its last reference.
public final class Watch: Sendable {
    private let id: Int
    private let monitor: StatusMonitor

    init(id: Int, monitor: StatusMonitor) {
        self.id = id
        self.monitor = monitor
    }

    deinit { monitor.ledger.withLock { $0.unwatch(id) } }

    /// The next event; nil if there is none now.
    ///
    /// After nil, `onEvents` is called when there is something to read.
    ///
    /// After a snapshot of all servers, all of them must be read with ``nextServers(limit:)`` before the next event.
    public func next() -> Event? { monitor.ledger.withLock { $0.next(id) } }

    /// The next servers of a snapshot of all servers, with their current states; nil after the last one.
    ///
    /// If only some servers are wanted, it may return none although others follow.
    ///
    /// So a snapshot is never in memory as a whole. A change of a server before it is read here is part of the
    /// snapshot, and no separate event. A later change is an event after the snapshot.
    public func nextServers(limit: Int) -> [ServerState]? {
        monitor.ledger.withLock { $0.nextServers(id, limit: limit) }
    }
}
