// SPDX-License-Identifier: Apache-2.0

import NotificationStreams

/// What a server's notifications carry.
struct StatusUpdate: Sendable, Equatable {
    var status: String
}

/// Another kind of notification, which servers post as well.
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
