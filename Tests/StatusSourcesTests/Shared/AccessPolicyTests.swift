// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import FoundationEssentials
import Glibc
import StatusSources
import Testing

@Suite("Access policies") struct AccessPolicyTests {
    private let policy = AccessPolicy(users: [33], groups: [995])

    private func allows(user: UInt32, group: UInt32 = 12345, groups: [UInt32] = []) -> Bool {
        policy.allows(PeerCredentials(processID: 1, userID: user, groupID: group, groups: groups))
    }

    @Test("root, this process's user, the named users and all members of the groups are allowed")
    func rule() {
        #expect(allows(user: 0))
        #expect(allows(user: geteuid()))
        #expect(allows(user: 33))
        #expect(allows(user: 12345, group: 995))
        #expect(allows(user: 12345, groups: [4, 995]))
        #expect(!allows(user: 12345))
        #expect(!allows(user: 12345, groups: [4, 33]))
        #expect(!allows(user: 995))
    }

    @Test("added users are allowed, and the original policy is unchanged")
    func adding() {
        let wider = policy.allowing(users: [12345])
        #expect(wider.allows(PeerCredentials(processID: 1, userID: 12345, groupID: 12345)))
        #expect(wider.allows(PeerCredentials(processID: 1, userID: 33, groupID: 33)))
        #expect(!allows(user: 12345))
    }

    @Test("on a file, a policy is an access control list, which the kernel checks")
    func accessList() throws {
        let path = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"
        defer { unlink(path) }
        close(open(path, O_CREAT | O_RDWR, 0o600))
        try AccessPolicy(users: [65534, 1, 1], groups: [7]).apply(toFile: path)
        var status = stat()
        stat(path, &status)
        // With a list, the group's bits limit the permissions of all its entries.
        #expect(status.st_mode & 0o777 == 0o660)
        try AccessPolicy().apply(toDirectory: path)
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o710)
    }
}
