// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO

@Suite("Receiving in shares") struct ReceivingShareTests {
    @Test("everything that a peer has sent is received, in steps that grow but stay small enough")
    func muchInput() {
        var steps: [Int] = []
        ReceivingShare.receiveAll(.max, busyCount: { 0 }) { count in
            steps.append(count)
            return steps.count < 100 ? count : 0
        }
        #expect(steps.count == 100)
        #expect(steps[0] == 8)
        #expect(steps.allSatisfy { $0 <= 16_384 })
    }

    @Test("nothing is received beyond the requested amount")
    func bounded() {
        var (total, left, pace) = (0, 1000, ReceivingPace())
        while left > 0 {
            left = ReceivingShare().receive(upTo: left, &pace) { count in
                total += count
                return count
            }
        }
        #expect(total == 1000)
    }

    /// The steps in which so much is received, if `isSlow` tells by a call's number whether it is slow.
    private func steps(of count: Int, isSlow: (Int) -> Bool) -> [Int] {
        var (left, pace, steps) = (count, ReceivingPace(), [Int]())
        while left > 0 {
            let step = pace.step(of: left)
            steps.append(step)
            left -= step
            pace.note(isSlow: isSlow(steps.count))
        }
        return steps
    }

    @Test("data from a quick peer is received in ever longer steps, and in short ones towards the end")
    func quick() {
        let steps = steps(of: 1_000_000) { _ in false }
        #expect(steps.prefix(12) == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384])
        #expect(steps.max() == 16_384)
        #expect(steps.suffix(20).max() == 8)
    }

    @Test("a slow call is followed by single bytes, more than a queue has messages; then the steps grow again")
    func interrupted() {
        let steps = steps(of: 100_000) { $0 == 3 }
        #expect(Array(steps.prefix(3)) == [8, 16, 32])
        #expect(steps[3..<3 + 1024].allSatisfy { $0 == 1 })
        #expect(steps[3 + 1024] == 2)
        #expect(steps.max() ?? 0 > 16)
    }

    @Test("data from a peer that stays slow is received byte by byte")
    func slow() {
        #expect(steps(of: 100) { _ in true } == [8] + Array(repeating: 1, count: 92))
    }
}
