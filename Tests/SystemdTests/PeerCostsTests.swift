// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Systemd

@Suite("What users' sockets cost", .timeLimit(.minutes(1)))
@EventLoop struct PeerCostsTests {
    @Test("a user who costs too much in a while has to stay away, others need not, and it is reported once")
    func exclusion() {
        let excluded = Mutex<[UInt32]>([])
        let costs = PeerCosts { user in excluded.withLock { $0.append(user) } }
        costs.charge(90_000_000, to: 1)
        costs.charge(90_000_000, to: 2)
        #expect(!costs.isExcluded(1))
        costs.charge(20_000_000, to: 1)
        costs.charge(20_000_000, to: 1)
        #expect(costs.isExcluded(1))
        #expect(!costs.isExcluded(2))
        #expect(excluded.withLock { $0 } == [1])
    }
}
