// SPDX-License-Identifier: Apache-2.0

import NotificationStreams

/// The user info of a server's notifications.
struct StatusUpdate: Sendable, Equatable {
    var status: String
}

/// The user info of another kind of notification.
struct ServerMoved: Sendable {}

extension NotificationName where UserInfo == StatusUpdate {
    static var didUpdateStatus: Self { Self() }
}

extension NotificationName where UserInfo == ServerMoved {
    static var didMove: Self { Self() }
}

/// A server that posts its status.
final class Server: Sendable, Equatable {
    let bus: NotificationBus

    init(bus: NotificationBus = .default) { self.bus = bus }

    static func == (one: Server, other: Server) -> Bool { one === other }

    func signIn() { post("Signed In") }

    func signOut() { post("Signed Out") }

    func post(_ status: String) {
        bus.post(name: .didUpdateStatus, object: self, userInfo: StatusUpdate(status: status))
    }
}
