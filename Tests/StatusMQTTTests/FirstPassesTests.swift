// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusMQTT

struct FirstPassesTests {
    /// The daemon removes what was in neither of the last two passes, and counts for the first one what it heard before.
    @Test func `After a connection, two passes end that began after it`() {
        var passes = PassMachine()
        var now = Duration.zero
        var ended = 0
        #expect(passes.begin() == .subscribe)
        for _ in 0..<60 {
            passes.subscribed(now: now)
            now += PassMachine.quietTime
            ended += passes.tick(now: now, isBehind: false).count { $0 == .endPass }
        }
        #expect(ended == 3)
    }
}
