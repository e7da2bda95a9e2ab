// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import EventLoopIO

@Suite("Subordinate user ids", .timeLimit(.minutes(1))) struct SubordinateUsersTests {
    @Test("ids of one range count as its first, others as themselves; overlapping ranges are one")
    func ranges() {
        let ranges = IDRanges(
            parsing: """
                # a comment
                bob:200000:100
                alice:100000:65536
                frank:150000:20000
                1000:4294967000:65536
                carol:300000:0
                dave:400000
                erin:-1:5

                """)
        let expected: [UInt32: UInt32] = [
            0: 0, 99_999: 99_999, 100_000: 100_000, 165_535: 100_000, 169_999: 100_000, 170_000: 170_000,
            200_000: 200_000,
            200_099: 200_000, 200_100: 200_100, 300_000: 300_000, 400_000: 400_000, 4_294_967_294: 4_294_967_000,
        ]
        for (id, first) in expected { #expect(ranges.first(of: id) == first) }
    }

    @Test("no id counts as a real user, whatever a range says, and ranges of root are ignored")
    func realUsers() {
        let ranges = IDRanges(
            parsing: "alice:1000:70000\nbob:0:3\ncarol:10:65526\nroot:1000000:1000000000\n0:90000:5\n")
        #expect(ranges.first(of: 65_536) == 65_536)
        #expect(ranges.first(of: 70_999) == 65_536)
        #expect(ranges.first(of: 71_000) == 71_000)
        #expect(ranges.first(of: 1_000_007) == 1_000_007)
        #expect(ranges.first(of: 90_001) == 90_001)
    }

    @Test("a file that changes is read again; no real user is mistaken for another one's id")
    @EventLoop func refreshing() async throws {
        let path = "/tmp/statusd-test-\(UInt64.random(in: .min ... .max))"
        defer { unlink(path) }
        func write(_ text: String) {
            let file = fopen(path + "~", "w")
            fputs(text, file)
            fclose(file)
            rename(path + "~", path)
        }
        write("alice:100000:65536\nalice:1000:10\n")
        let users = SubordinateUsers(path: path, interval: .zero)
        await users.refresh(within: .seconds(30))
        #expect(users.account(of: 100_005) == 100_000)
        #expect(users.account(of: 1005) == 1005)
        write("alice:100000:5\n")
        while users.account(of: 100_005) != 100_005 { await Task.yield() }
        #expect(users.account(of: 100_004) == 100_000)
        unlink(path)
        while users.account(of: 100_004) != 100_004 { await Task.yield() }
    }

    @Test("a file that does not answer delays nobody")
    @EventLoop func hanging() async throws {
        let path = "/tmp/statusd-test-\(UInt64.random(in: .min ... .max))"
        defer { unlink(path) }
        #expect(mkfifo(path, 0o600) == 0)
        let users = SubordinateUsers(path: path)
        await users.refresh(within: .zero)
        #expect(users.account(of: 100_005) == 100_005)
        // Releases the thread that opened it.
        close(open(path, O_RDWR | O_NONBLOCK))
    }
}
