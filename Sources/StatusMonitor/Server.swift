// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel

extension NotificationName where UserInfo == StatusUpdate {
    /// A server's status changed; the object is the ``Server``.
    public static var didUpdateStatus: Self { Self() }
}

/// A followed server: the object of its `didUpdateStatus` notifications.
///
/// It is only an identity. Its state is in the monitor's ledger, so that all servers share one order. A server that is
/// removed and added again is a new object, so listeners of the old object do not hear from it.
public final class Server: Sendable, CustomStringConvertible {
    /// The server's name.
    public let name: ServerName

    init(name: ServerName) { self.name = name }

    public var description: String { name.rawValue }

    /// Notifies listeners that the server's status changed.
    func post(_ update: StatusUpdate, to bus: NotificationBus) {
        bus.post(name: .didUpdateStatus, object: self, userInfo: update)
    }
}

/// The sender of a status.
public enum Poster: Equatable, Sendable {
    /// The server's own source.
    case source
    /// A client of the control interface.
    case client(Caller?)

    var caller: Caller? { if case .client(let caller) = self { caller } else { nil } }
}

/// The contents of a `didUpdateStatus` notification.
///
/// Notifications are posted outside the monitor's lock and may overtake one another, so a listener ignores one that is
/// not newer than the last it has seen.
public struct StatusUpdate: Sendable {
    let snapshot: ServerSnapshot

    /// The line to show, such as “Signed In”.
    public var status: String { snapshot.state.headline }

    /// The server's state after the change; its revision is the event's.
    public var state: ServerState { snapshot.state }

    /// The revision of the change.
    public var revision: Int { snapshot.state.revision }

    init(snapshot: ServerSnapshot) { self.snapshot = snapshot }

    init(_ state: ServerState) { snapshot = ServerSnapshot(state) }
}
