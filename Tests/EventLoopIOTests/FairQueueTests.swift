// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@Suite("A fair queue") struct FairQueueTests {
    @Test("owners take turns, in order of arrival; the items of one owner stay in order")
    func turns() {
        var queue = FairQueue<String>()
        for (element, owner) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)] as [(String, UInt32)]
        {
            queue.append(element, of: owner)
        }
        var order: [String] = []
        while let (element, _) = queue.popFirst() {
            order.append(element)
            // An owner that was done and returns comes behind the others.
            if element == "c1" { queue.append("c2", of: 3) }
        }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "c2", "a3"])
        #expect(queue.isEmpty)
    }

    /// Gives each of so many owners with more items a turn of this cost; returns the owners in order.
    private func serve(_ queue: inout FairQueue<Void>, times: Int, cost: (UInt32) -> UInt64) -> [UInt32] {
        (0..<times).compactMap { _ in
            guard let (_, owner) = queue.popFirst() else { return nil }
            queue.charge(cost(owner), to: owner)
            queue.append((), of: owner)
            return owner
        }
    }

    @Test("the longer an owner takes, the longer it waits for its next turn, and newcomers are served before it")
    func costs() {
        var queue = FairQueue<Void>()
        for owner: UInt32 in 1...3 { for _ in 0..<2 { queue.append((), of: owner) } }
        let served = serve(&queue, times: 1000) { $0 == 1 ? 100 : 10 }
        #expect((40...60).contains(served.count { $0 == 1 }))
        queue.append((), of: 4)
        #expect(serve(&queue, times: 3) { _ in 10 }.contains(4))
    }

    @Test("owners of small items come before owners of large ones, even if both have received as much")
    func credit() {
        var queue = FairQueue<Void>(credit: 1000)
        for owner: UInt32 in 1...100 { for _ in 0..<2 { queue.append((), of: owner) } }
        for _ in 0..<10 {
            _ = serve(&queue, times: 250) { _ in 250 }
            queue.append((), of: 0)
            let next = queue.popFirst()
            #expect(next?.owner == 0)
            queue.charge(20, to: 0)
        }
    }

    @Test("no owner saves up by staying away, and service without competition does not count against anybody")
    func newcomers() {
        var queue = FairQueue<Void>()
        queue.charge(1_000_000, to: 1)
        for owner: UInt32 in 1...2 { for _ in 0..<2 { queue.append((), of: owner) } }
        #expect(serve(&queue, times: 100) { _ in 10 }.count { $0 == 1 } == 50)
        for _ in 0..<2 { queue.append((), of: 3) }
        #expect(serve(&queue, times: 90) { _ in 10 }.count { $0 == 3 } == 30)
        while queue.popFirst() != nil {}
        for owner: UInt32 in 1...2 { for _ in 0..<2 { queue.append((), of: owner) } }
        #expect(serve(&queue, times: 100) { _ in 10 }.count { $0 == 1 } == 50)
    }
}
