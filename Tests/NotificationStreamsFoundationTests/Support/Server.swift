// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSNotification.Name {
    static var didUpdateStatus: NSNotification.Name {
        NSNotification.Name("didUpdateStatus")
    }
}

/// A server that posts its status.
final class Server: Sendable, Equatable {
    let center: NotificationCenter

    init(center: NotificationCenter = .default) {
        self.center = center
    }

    static func == (one: Server, other: Server) -> Bool {
        one === other
    }

    func signIn() {
        post("Signed In")
    }

    func signOut() {
        post("Signed Out")
    }

    func post(_ status: String) {
        let notification = Notification(name: .didUpdateStatus, object: self, userInfo: ["status": status])
        center.post(notification)
    }
}

extension Notification {
    var status: String? {
        userInfo?["status"] as? String
    }
}
