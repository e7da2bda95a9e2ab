// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel

extension NotificationName where UserInfo == StatusUpdate {
    /// A server's status changed; the object is the ``Server``.
    public static var didUpdateStatus: Self { Self() }
}

/// A server whose status is followed: the object of its `didUpdateStatus` notifications.
///
/// It is an identity and nothing else. Its state is in the monitor's ledger, so that one order holds for all servers. A server
/// that is removed and added again is another object; nobody who follows the old one hears the new one.
public final class Server: Sendable, CustomStringConvertible {
    /// The server's name.
    public let name: ServerName

    init(name: ServerName) { self.name = name }

    public var description: String { name.rawValue }

    /// Tells whoever listens that the server's status became another.
    func post(_ update: StatusUpdate, to bus: NotificationBus) {
        bus.post(name: .didUpdateStatus, object: self, userInfo: update)
    }
}

/// Who posts a status.
public enum Poster: Sendable {
    /// The server's own source.
    case source
    /// A client of the control interface.
    case client
}

/// What a `didUpdateStatus` notification carries.
///
/// Notifications are posted outside the monitor's lock and may overtake one another; a listener drops what is not newer
/// than what it has seen.
public struct StatusUpdate: Sendable {
    let snapshot: ServerSnapshot

    /// The line to show for the server, such as “Signed In”.
    public var status: String { snapshot.state.headline }

    /// The server's state after the change; its revision is the event's.
    public var state: ServerState { snapshot.state }

    /// The revision of the change.
    public var revision: Int { snapshot.state.revision }

    init(snapshot: ServerSnapshot) { self.snapshot = snapshot }
}
