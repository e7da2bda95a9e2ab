// SPDX-License-Identifier: Apache-2.0

import Systemd
import Testing

@Suite("A fair queue") struct FairQueueTests {
    @Test("owners take turns, in the order in which they came; what one owner has stays in order")
    func turns() {
        var queue = FairQueue<String>()
        for (element, owner) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)] as [(String, UInt32)]
        {
            queue.append(element, of: owner)
        }
        var order: [String] = []
        while let element = queue.popFirst() {
            order.append(element)
            // Whoever was done and comes again is behind the others.
            if element == "c1" { queue.append("c2", of: 3) }
        }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "c2", "a3"])
        #expect(queue.isEmpty)
    }
}
