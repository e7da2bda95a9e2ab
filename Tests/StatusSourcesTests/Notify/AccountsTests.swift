// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusSources
import Testing

@Suite("The users and groups of a configuration") struct AccountsTests {
    private func sources(users: [String]) -> [AnySourceSettings] {
        [AnySourceSettings(NotifySettings(users: users))]
    }

    private let refuse: Accounts.LookUp = { name throws(IOError) in
        throw IOError(errno: EIO, "cannot look up “\(name)”")
    }

    @Test("are looked up in the databases; an unknown name matches no user")
    func known() throws {
        let accounts = Accounts(
            of: sources(users: ["www-data", "nobody-else"]), before: Accounts(),
            user: { name throws(IOError) in name == "www-data" ? 33 : nil },
            group: { _ throws(IOError) in 995 })
        #expect(try accounts.user("www-data") == 33)
        #expect(try accounts.user("nobody-else") == nil)
        #expect(accounts.access == AccessPolicy(groups: [995]))
        #expect(accounts.failures.isEmpty)
    }

    @Test("stay the same while a database does not answer, and the failure is reported")
    func unavailable() throws {
        let sources = sources(users: ["www-data", "new"])
        let before = Accounts(
            of: sources, before: Accounts(), user: { name throws(IOError) in name == "new" ? nil : 33 },
            group: { _ throws(IOError) in 995 })
        let accounts = Accounts(of: sources, before: before, user: refuse, group: refuse)
        #expect(try accounts.user("www-data") == 33)
        // An error is not taken for a user who does not exist.
        #expect(throws: IOError.self) { try accounts.user("new") }
        #expect(accounts.access == AccessPolicy(groups: [995]))
        #expect(
            accounts.failures == [
                "cannot look up “statusd”: Input/output error; the previous value is used",
                "cannot look up “www-data”: Input/output error; the previous value is used",
                "cannot look up “new”: Input/output error",
            ])
    }
}
