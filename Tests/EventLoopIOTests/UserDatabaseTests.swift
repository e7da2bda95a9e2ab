// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@Suite("Users") struct UserDatabaseTests {
    @Test("a user's name is found by its number, and the number by its name")
    func names() throws {
        #expect(try UserDatabase.name(ofUser: 0) == "root")
        #expect(try UserDatabase.user("root") == 0)
    }

    @Test("a number without a user has no name")
    func missing() throws { #expect(try UserDatabase.name(ofUser: 4_294_000_001) == nil) }
}
