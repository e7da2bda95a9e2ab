// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import StatusModel

extension Notification.Name {
    /// A server's status became another.
    ///
    /// The object is the ``Server``; `userInfo` has the text under `"status"` and the whole ``StatusUpdate`` under
    /// ``StatusUpdate/userInfoKey``.
    public static let didUpdateStatus = Notification.Name("didUpdateStatus")
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
    func post(_ update: StatusUpdate, to center: NotificationCenter) {
        center.post(
            name: .didUpdateStatus, object: self,
            userInfo: ["status": update.snapshot.state.headline, StatusUpdate.userInfoKey: update])
    }
}

/// Who posts a status.
public enum Poster: Sendable {
    /// The server's own source.
    case source
    /// A client of the control interface.
    case client
}

/// What a `didUpdateStatus` notification carries beside the text.
///
/// Notifications are posted outside the monitor's lock and may overtake one another; a listener drops what is not newer
/// than what it has seen.
public struct StatusUpdate: Sendable {
    /// Where it stands in `userInfo`.
    public static let userInfoKey = "update"

    let snapshot: ServerSnapshot

    /// The server's state after the change; its revision is the event's.
    public var state: ServerState { snapshot.state }

    /// The revision of the change.
    public var revision: Int { snapshot.state.revision }

    /// Takes the update out of a notification of a ``Server``.
    public init?(_ notification: Notification) {
        guard let update = notification.userInfo?[Self.userInfoKey] as? StatusUpdate else { return nil }
        self = update
    }

    init(snapshot: ServerSnapshot) { self.snapshot = snapshot }
}
