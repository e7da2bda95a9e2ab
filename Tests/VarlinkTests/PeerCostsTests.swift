// SPDX-License-Identifier: Apache-2.0

import Systemd
import Testing

@testable import Varlink

@Suite("What users' sockets cost", .timeLimit(.minutes(1)))
@EventLoop struct PeerCostsTests {
    @Test("a user who costs too much in a while has to stay away, others need not, and it is reported once")
    func exclusion() async {
        let costs = PeerCosts()
        var excluded: [UInt32] = []
        costs.onExclusion = { excluded.append($0) }
        costs.charge(9_000_000, to: 1)
        costs.charge(9_000_000, to: 2)
        #expect(!costs.isExcluded(1))
        costs.charge(2_000_000, to: 1)
        costs.charge(2_000_000, to: 1)
        #expect(costs.isExcluded(1))
        #expect(!costs.isExcluded(2))
        await withCheckedContinuation { continuation in EventLoop.atNextTurn { continuation.resume() } }
        #expect(excluded == [1])
    }
}
