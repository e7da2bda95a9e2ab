// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Who may use something: some users, and the members of some groups.
public struct AccessPolicy: Sendable, Equatable {
    // A handful of each, so a search is faster than a hash.
    private var users: [UInt32] = []
    private var groups: [UInt32] = []

    /// A policy that allows root and the user of this process.
    public init() { users = [0, geteuid()] }

    /// Allows the members of a group, by its name.
    ///
    /// Without such a group it does nothing.
    public mutating func allow(group name: String) {
        guard let group = getgrnam(name)?.pointee else { return }
        groups.append(group.gr_gid)
        // A datagram does not tell its sender's supplementary groups, so the members are allowed as users, too.
        var member = group.gr_mem
        while let name = member?.pointee {
            if let user = getpwnam(name)?.pointee { users.append(user.pw_uid) }
            member = member?.advanced(by: 1)
        }
    }

    /// Allows a user, by name or number; returns whether there is such a user.
    public mutating func allow(user: String) -> Bool {
        guard let identifier = UInt32(user) ?? getpwnam(user)?.pointee.pw_uid else { return false }
        users.append(identifier)
        return true
    }

    /// Whether these are the credentials of somebody who may.
    public func allows(_ credentials: PeerCredentials) -> Bool {
        users.contains(credentials.userID) || groups.contains { credentials.isMember(of: $0) }
    }
}
