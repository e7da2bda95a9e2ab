// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO

@Suite("The order of system calls") struct SystemCallQueueTests {
    private var queue = SystemCallQueue()

    private mutating func append(_ owner: UInt32, isMuch: Bool = false, count: Int = 1) {
        for _ in 0..<count { queue.append({}, of: owner, isMuch: isMuch) }
    }

    /// Takes all calls; each short one takes 0.1 ms, each long one 1 ms, or what `times` says.
    private mutating func order(times: [UInt32: UInt64] = [:]) -> String {
        var order = ""
        while let call = queue.popFirst() {
            order += "\(call.isLong ? "L" : "s")\(call.owner) "
            let time = times[call.owner] ?? (call.isLong ? 1_000_000 : 100_000)
            queue.charge(time, processorTime: time, for: call)
        }
        return order
    }

    @Test("short calls come first, with a long one after each millisecond; in both, owners take turns")
    mutating func order() {
        for owner in [1, 1, 2] as [UInt32] { append(owner, isMuch: true) }
        append(3, count: 11)
        append(4)
        #expect(queue.count == 15)
        #expect(order() == "s3 s4 \(String(repeating: "s3 ", count: 8))L1 s3 s3 L2 L1 ")
        #expect(queue.count == 0)
    }

    @Test("after slow calls, an owner's calls count as long until it has taken as much time with quick ones")
    mutating func slow() {
        append(1)
        #expect(order(times: [1: 190_000]) == "s1 ")
        append(1)
        #expect(order(times: [1: 150_000]) == "s1 ")
        append(1, count: 4)
        append(2)
        #expect(order(times: [1: 60_000]) == "s2 L1 L1 L1 L1 ")
        append(1)
        #expect(order() == "s1 ")
    }

    @Test("an owner that is slow every second time does not count as a quick one")
    mutating func mixed() {
        for time: UInt64 in [5_000_000, 10_000, 5_000_000, 10_000] {
            append(1)
            _ = order(times: [1: time])
        }
        append(1)
        append(2)
        #expect(order() == "s2 L1 ")
    }

    @Test("an owner's calls that are known to be long do not make its short ones count as long")
    mutating func known() {
        append(1, isMuch: true, count: 3)
        #expect(order() == "L1 L1 L1 ")
        append(1)
        #expect(order() == "s1 ")
    }

    @Test("short calls get as much time as the long one before them has taken")
    mutating func balance() {
        append(1, isMuch: true)
        #expect(order(times: [1: 2_000_000]) == "L1 ")
        append(1, isMuch: true)
        append(2, count: 25)
        #expect(order().hasPrefix(String(repeating: "s2 ", count: 20) + "L1 "))
    }

    @Test("an owner that has taken much time comes after the others, in long calls only")
    mutating func charged() {
        append(1, isMuch: true, count: 2)
        let call = queue.popFirst()
        #expect(call?.owner == 1)
        if let call { queue.charge(50_000_000, processorTime: 0, for: call) }
        append(1)
        append(2, isMuch: true)
        append(2)
        #expect(order() == "s1 s2 L2 L1 ")
    }
}
