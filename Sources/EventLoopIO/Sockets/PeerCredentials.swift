// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The credentials of the process at the other end of a Unix socket, as the kernel reports them.
public struct PeerCredentials: Sendable, Hashable {
    /// The process that connected or sent.
    public var processID: Int32
    /// Its effective user.
    public var userID: UInt32
    /// Its effective group.
    public var groupID: UInt32
    /// Its supplementary groups; empty if they are unknown.
    public var groups: [UInt32]

    /// Creates credentials.
    public init(processID: Int32, userID: UInt32, groupID: UInt32, groups: [UInt32] = []) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
        self.groups = groups
    }

    /// Whether the process is in a group, either its effective or a supplementary one.
    public func isMember(of group: UInt32) -> Bool { groupID == group || groups.contains(group) }

    /// Reads the credentials of a connected stream socket's peer (`SO_PEERCRED`; unix(7)), without supplementary
    /// groups.
    package init(ofConnected descriptor: Int32) throws(IOError) {
        var credentials = linux_credentials()
        var length = socklen_t(MemoryLayout<linux_credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw IOError(errno: errno, "cannot get the peer credentials of a socket")
        }
        self.init(processID: credentials.pid, userID: credentials.uid, groupID: credentials.gid)
    }

    /// The most groups that are read; a process with more counts as having none.
    ///
    /// A process may have 65,536, which cost the kernel 2 ms and 256 KiB.
    private static let maximumGroups = 4096

    /// Returns the supplementary groups that a connected stream socket's peer had when it connected (`SO_PEERGROUPS`).
    package static func groups(ofConnected descriptor: Int32) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 16)
        while true {
            var length = socklen_t(groups.count * MemoryLayout<UInt32>.size)
            if getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 {
                return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
            }
            // The kernel returns how much room it needs.
            let needed = Int(length) / MemoryLayout<UInt32>.size
            guard errno == ERANGE, groups.count < needed, needed <= maximumGroups else { return [] }
            groups = [UInt32](repeating: 0, count: needed)
        }
    }
}
