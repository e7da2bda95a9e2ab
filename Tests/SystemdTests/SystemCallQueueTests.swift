// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Systemd

@Suite("The order of system calls") struct SystemCallQueueTests {
    /// Takes all calls; each short one takes 0.4 ms, each long one 1 ms.
    private func order(of queue: inout SystemCallQueue) -> String {
        var order = ""
        while let (_, owner, isLong) = queue.popFirst() {
            order += "\(isLong ? "L" : "s")\(owner) "
            queue.charge(isLong ? 1_000_000 : 400_000, to: owner, isLong: isLong)
        }
        return order
    }

    @Test("short calls come first, with a long one after each millisecond; in both, owners take turns")
    func order() {
        var queue = SystemCallQueue()
        for owner in [1, 1, 2] as [UInt32] { queue.append({}, of: owner, isLong: true) }
        for owner in [3, 3, 3, 3, 4] as [UInt32] { queue.append({}, of: owner, isLong: false) }
        #expect(queue.count == 8)
        #expect(order(of: &queue) == "s3 s4 s3 L1 s3 s3 L2 L1 ")
        #expect(queue.count == 0)
    }

    @Test("an owner that has taken much comes after those who have not, in long calls only")
    func charged() {
        var queue = SystemCallQueue()
        queue.append({}, of: 1, isLong: true)
        queue.charge(50_000_000, to: 1, isLong: true)
        queue.append({}, of: 2, isLong: true)
        queue.append({}, of: 1, isLong: false)
        queue.append({}, of: 2, isLong: false)
        #expect(order(of: &queue) == "s1 s2 L2 L1 ")
    }
}
