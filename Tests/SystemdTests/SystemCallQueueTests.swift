// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Systemd

@Suite("The order of system calls") struct SystemCallQueueTests {
    /// Takes all calls; each short one takes 0.1 ms, each long one 1 ms.
    private func order(of queue: inout SystemCallQueue) -> String {
        var order = ""
        while let (_, owner, isLong) = queue.popFirst() {
            order += "\(isLong ? "L" : "s")\(owner) "
            queue.charge(isLong ? 1_000_000 : 100_000, to: owner, isLong: isLong, wasSlow: false)
        }
        return order
    }

    @Test("short calls come first, with a long one after each millisecond; in both, owners take turns")
    func order() {
        var queue = SystemCallQueue()
        for owner in [1, 1, 2] as [UInt32] { queue.append({}, of: owner, isLong: true) }
        for _ in 0..<11 { queue.append({}, of: 3, isLong: false) }
        queue.append({}, of: 4, isLong: false)
        #expect(queue.count == 15)
        #expect(order(of: &queue) == "s3 s4 \(String(repeating: "s3 ", count: 8))L1 s3 s3 L2 L1 ")
        #expect(queue.count == 0)
    }

    @Test("calls of an owner that has been slow more than once count as long, until one is not slow")
    func slow() {
        var queue = SystemCallQueue()
        queue.charge(200_000, to: 1, isLong: false, wasSlow: true)
        queue.append({}, of: 1, isLong: false)
        #expect(order(of: &queue) == "s1 ")
        for _ in 0..<2 { queue.charge(200_000, to: 1, isLong: false, wasSlow: true) }
        queue.append({}, of: 1, isLong: false)
        queue.append({}, of: 2, isLong: false)
        #expect(order(of: &queue) == "s2 L1 ")
        queue.charge(50_000, to: 1, isLong: true, wasSlow: false)
        queue.append({}, of: 1, isLong: false)
        #expect(order(of: &queue) == "s1 ")
    }

    @Test("short calls have as much time as the long one before has taken")
    func balance() {
        var queue = SystemCallQueue()
        for _ in 0..<2 { queue.append({}, of: 1, isLong: true) }
        queue.charge(2_000_000, to: 1, isLong: true, wasSlow: true)
        for _ in 0..<25 { queue.append({}, of: 2, isLong: false) }
        let shorts = String(repeating: "s2 ", count: 20)
        #expect(order(of: &queue).hasPrefix(shorts + "L1 "))
    }

    @Test("an owner that has taken much comes after those who have not, in long calls only")
    func charged() {
        var queue = SystemCallQueue()
        queue.append({}, of: 1, isLong: true)
        queue.append({}, of: 1, isLong: false)
        queue.charge(50_000_000, to: 1, isLong: true, wasSlow: true)
        queue.append({}, of: 2, isLong: true)
        queue.append({}, of: 2, isLong: false)
        #expect(order(of: &queue) == "s1 s2 L2 L1 ")
    }
}
