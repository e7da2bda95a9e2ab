// SPDX-License-Identifier: Apache-2.0

import Systemd
import Testing

@Suite("What owners leave to the next turns", .timeLimit(.minutes(1)))
@EventLoop struct TurnQueueTests {
    private let queue = TurnQueue()

    private func nextTurn() async {
        await withCheckedContinuation { continuation in EventLoop.atNextTurn { continuation.resume() } }
    }

    @Test("an owner that has taken a millisecond of a turn waits for the next one; another one does not")
    func share() async {
        for _ in 0..<4 {
            #expect(!queue.mustWait(1))
            queue.note(250_000, by: 1)
        }
        #expect(queue.mustWait(1))
        #expect(!queue.mustWait(2))
        await nextTurn()
        #expect(!queue.mustWait(1))
    }

    @Test("the more owners wait, the less another one may take at once; those who wait have to wait for what they left")
    func several() {
        for owner: UInt32 in 1...10 { queue.append(of: owner) {} }
        #expect(queue.mustWait(1))
        queue.note(90_000, by: 11)
        #expect(!queue.mustWait(11))
        queue.note(10_000, by: 11)
        #expect(queue.mustWait(11))
    }

    @Test("what waits is done in a later turn, in order for each owner, and owners take turns")
    func order() async {
        var done: [String] = []
        let turn = EventLoop.turn
        await withCheckedContinuation { continuation in
            for name in ["a1", "a2", "a3"] { queue.append(of: 1) { done.append(name) } }
            queue.append(of: 2) {
                done.append("b1")
                queue.append(of: 2) { done.append("b2") }
            }
            queue.append(of: 1) { continuation.resume() }
            #expect(done.isEmpty)
        }
        #expect(EventLoop.turn != turn)
        #expect(done == ["a1", "b1", "a2", "b2", "a3"])
    }
}
