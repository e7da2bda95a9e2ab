// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Systemd

@Suite("What receiving from a peer costs") struct PeerCostTests {
    @Test("however much a peer has sent is received, in steps that stay small enough")
    func muchInput() {
        var (left, longest) = (100, 0)
        let excess = PeerCost.receive(upTo: .max, .unlimited) { count in
            longest = max(longest, count)
            left -= 1
            return left > 0 ? count : 0
        }
        #expect((left, excess) == (0, 0))
        #expect(longest == 16_384)
    }

    @Test("nothing is received beyond what is asked for")
    func bounded() {
        var total = 0
        _ = PeerCost.receive(upTo: 1000, .limited) { count in
            total += count
            return count
        }
        #expect(total == 1000)
    }
}
