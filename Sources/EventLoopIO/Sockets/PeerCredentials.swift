// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Who is at the other end of a Unix socket, as the kernel vouches for it.
public struct PeerCredentials: Sendable, Hashable {
    /// The process, as it was when it connected or sent.
    public var processID: Int32
    /// Its effective user.
    public var userID: UInt32
    /// Its effective group.
    public var groupID: UInt32
    /// Its supplementary groups; empty where they are not known.
    public var groups: [UInt32]

    /// Credentials with what belongs to them.
    public init(processID: Int32, userID: UInt32, groupID: UInt32, groups: [UInt32] = []) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
        self.groups = groups
    }

    /// Whether the process is in a group, as its own or a supplementary one.
    public func isMember(of group: UInt32) -> Bool { groupID == group || groups.contains(group) }

    /// The peer of a connected stream socket (`SO_PEERCRED`; unix(7)), without its supplementary groups.
    init(ofConnected descriptor: Int32) throws(IOError) {
        var credentials = linux_credentials()
        var length = socklen_t(MemoryLayout<linux_credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw IOError(errno: errno, "cannot get the peer credentials of a socket")
        }
        self.init(processID: credentials.pid, userID: credentials.uid, groupID: credentials.gid)
    }

    /// More groups than these are not asked for: a process may have 65,536, which take the kernel 2 ms and 256 KiB.
    private static let maximumGroups = 4096

    /// The supplementary groups of the peer of a connected stream socket, as they were when it connected (`SO_PEERGROUPS`).
    static func groups(ofConnected descriptor: Int32) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 16)
        while true {
            var length = socklen_t(groups.count * MemoryLayout<UInt32>.size)
            if getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 {
                return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
            }
            // The kernel says how much room it needs. Where it does not know groups, there are none.
            let needed = Int(length) / MemoryLayout<UInt32>.size
            guard errno == ERANGE, groups.count < needed, needed <= maximumGroups else { return [] }
            groups = [UInt32](repeating: 0, count: needed)
        }
    }
}
