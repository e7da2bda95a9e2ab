// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Systemd

@Suite("Receiving in shares") struct ReceivingShareTests {
    @Test("however much a peer has sent is received, in steps that stay small enough")
    func muchInput() {
        var (left, longest) = (100, 0)
        ReceivingShare.receiveAll { count in
            longest = max(longest, count)
            left -= 1
            return left > 0 ? count : 0
        }
        #expect(left == 0)
        #expect(longest == 16_384)
    }

    @Test("nothing is received beyond what is asked for")
    func bounded() {
        var total = 0
        let left = ReceivingShare().receive(upTo: 1000) { count in
            total += count
            return count
        }
        #expect((total, left) == (1000, 0))
    }
}
