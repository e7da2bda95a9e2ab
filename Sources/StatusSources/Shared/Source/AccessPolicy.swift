// SPDX-License-Identifier: Apache-2.0

import CLinux
public import EventLoopIO
import Glibc

/// Who may use something: some users, and the members of some groups.
///
/// What counts are the credentials of the process itself, as the kernel knows them: its effective user, its group and its supplementary groups. So a
/// control socket, which asks for them (``allows(_:)``), and a file, which the kernel checks (``apply(toFile:)``), follow the same rule.
public struct AccessPolicy: Sendable, Equatable {
    // A handful of each, so a search is faster than a hash.
    private var users: [UInt32]
    private var groups: [UInt32]

    /// A policy that allows root, the user of this process, and these.
    public init(users: [UInt32] = [], groups: [UInt32] = []) {
        self.users = [0, geteuid()] + users
        self.groups = groups
    }

    /// This policy, and these users in addition.
    public func allowing(users: [UInt32]) -> AccessPolicy {
        var policy = self
        policy.users += users
        return policy
    }

    /// The users of whom this policy speaks, and the other one does not any more.
    public func users(missingIn other: AccessPolicy) -> Set<UInt32> { Set(users).subtracting(other.users) }

    /// Whether these are the credentials of a process that may.
    public func allows(_ credentials: PeerCredentials) -> Bool {
        users.contains(credentials.userID) || groups.contains { credentials.isMember(of: $0) }
    }

    /// Has the kernel let these processes, and no others, read and write a file of this process's user (acl(5)).
    ///
    /// - Throws: if the file system does not keep such lists.
    public func apply(toFile path: String) throws(IOError) { try grant(6, on: path) }

    /// Has the kernel let these processes, and no others, reach what is in a directory of this process's user, but not list it.
    ///
    /// Whoever can read a directory can hold its lock, and whoever can search it can compete for it; all that makes a socket there would wait.
    ///
    /// - Throws: if the file system does not keep such lists.
    public func apply(toDirectory path: String) throws(IOError) { try grant(1, on: path) }

    private func grant(_ permissions: UInt16, on path: String) throws(IOError) {
        let list = accessControlList(permissions)
        guard setxattr(path, "system.posix_acl_access", list, list.count, 0) == 0 else {
            throw IOError(errno: errno, "cannot set the access control list of \(path)")
        }
    }

    /// The entries in the order and the format that the kernel wants (linux/posix_acl_xattr.h).
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
