// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import Systemd

/// The users and groups that a configuration is about, as the system's databases know them.
struct Accounts: Sendable {
    /// Root, the daemon's own user and the group `statusd`: those who may change things.
    let access: AccessPolicy
    private let users: [String: UInt32]

    /// Nobody but root and the daemon's own user.
    init() {
        access = AccessPolicy()
        users = [:]
    }

    /// Looks up the group `statusd` and whoever the configuration names; may wait.
    init(of configuration: Configuration) {
        access = AccessPolicy(groups: UserDatabase.group(named: "statusd").map { [$0] } ?? [])
        let names = configuration.servers.values.flatMap { server in
            if case .notify(let users) = server.source { users } else { [String]() }
        }
        users = Dictionary(
            Set(names).compactMap { name in UserDatabase.user(name).map { (name, $0) } }, uniquingKeysWith: { $1 })
    }

    /// The number of a user whom the configuration names; nil if there is no such user.
    func user(_ name: String) -> UInt32? { users[name] }
}
