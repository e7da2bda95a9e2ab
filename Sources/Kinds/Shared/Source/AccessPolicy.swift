// SPDX-License-Identifier: Apache-2.0

import CLinux
public import EventLoopIO
import Glibc

/// The users and groups that may use something.
///
/// The kernel's credentials of a process count: its effective user, its group and its supplementary groups. So the same
/// rule applies to a control socket, which reads them (``allows(_:)``), and to a file, for which the kernel checks them
/// (``apply(toFile:)``).
public struct AccessPolicy: Sendable, Equatable {
    // Arrays, because there are only a few of each.
    private var users: [UInt32]
    private var groups: [UInt32]

    /// Creates a policy that allows root, this process's user, and these users and groups.
    public init(users: [UInt32] = [], groups: [UInt32] = []) {
        self.users = [0, geteuid()] + users
        self.groups = groups
    }

    public func allowing(users: [UInt32]) -> AccessPolicy {
        var policy = self
        // Thousands of servers share one array.
        if !users.isEmpty { policy.users += users }
        return policy
    }

    public func users(missingIn other: AccessPolicy) -> Set<UInt32> { Set(users).subtracting(other.users) }

    /// Whether a user is allowed in any group.
    public func allows(user: UInt32) -> Bool { users.contains(user) }

    public func allows(_ credentials: PeerCredentials) -> Bool {
        allows(user: credentials.userID) || groups.contains { credentials.isMember(of: $0) }
    }

    /// Lets only these processes read and write a file of this process's user (acl(5)).
    ///
    /// - Throws: if the file system does not support such lists.
    public func apply(toFile path: String) throws(IOError) { try grant(6, on: path) }

    /// Lets only these processes access the entries of a directory of this process's user; they cannot list it.
    ///
    /// Listing a directory holds its lock, which would delay the daemon when it creates a socket there.
    ///
    /// - Throws: if the file system does not support such lists.
    public func apply(toDirectory path: String) throws(IOError) { try grant(1, on: path) }

    private func grant(_ permissions: UInt16, on path: String) throws(IOError) {
        let list = accessControlList(permissions)
        guard setxattr(path, "system.posix_acl_access", list, list.count, 0) == 0 else {
            throw IOError(errno: errno, "cannot set the access control list of \(path)")
        }
    }

    /// The entries in the kernel's order and format (linux/posix_acl_xattr.h).
    private func accessControlList(_ permissions: UInt16) -> [UInt8] {
        typealias Entry = (tag: UInt16, permissions: UInt16, id: UInt32)
        let nobody = UInt32.max
        var entries: [Entry] = [(0x01, permissions | 6, nobody)]
        entries += Set(users).sorted().map { (0x02, permissions, $0) }
        entries.append((0x04, 0, nobody))
        entries += Set(groups).sorted().map { (0x08, permissions, $0) }
        entries += [(0x10, permissions, nobody), (0x20, 0, nobody)]
        let version: UInt32 = 2
        return entries.reduce(into: Self.littleEndian(version)) { bytes, entry in
            bytes += Self.littleEndian(entry.tag) + Self.littleEndian(entry.permissions) + Self.littleEndian(entry.id)
        }
    }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
