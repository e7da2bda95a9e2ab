// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd
import Testing

@Suite("Who may use something") struct AccessPolicyTests {
    private let policy = AccessPolicy(users: [33], groups: [995])

    private func allows(user: UInt32, group: UInt32 = 12345, groups: [UInt32] = []) -> Bool {
        policy.allows(PeerCredentials(processID: 1, userID: user, groupID: group, groups: groups))
    }

    @Test("root, the own user and those who are named may, and members of the groups, by either kind of membership")
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

    @Test("users who are added may; the policy that they were added to stays as it was")
    func adding() {
        let wider = policy.allowing(users: [12345])
        #expect(wider.allows(PeerCredentials(processID: 1, userID: 12345, groupID: 12345)))
        #expect(wider.allows(PeerCredentials(processID: 1, userID: 33, groupID: 33)))
        #expect(!allows(user: 12345))
    }
}
