// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO

@Suite("Work that owners leave to the next turns", .timeLimit(.minutes(1)))
@EventLoop struct TurnQueueTests {
    private let queue = TurnQueue()

    private func nextTurn() async {
        await withCheckedContinuation { continuation in EventLoop.atNextTurn { continuation.resume() } }
    }

    /// Takes this much time.
    private func take(_ time: Duration) {
        let share = TurnShare(time)
        while !share.isUsedUp {}
    }

    @Test("when owners have together taken a millisecond of a turn, all wait for the next one", arguments: [1, 4])
    func share(owners: UInt32) async {
        for number: UInt32 in 0..<4 {
            #expect(!queue.mustWait(number % owners))
            queue.note(250_000, by: number % owners)
        }
        for owner: UInt32 in 0...5 { #expect(queue.mustWait(owner)) }
        await nextTurn()
        for owner: UInt32 in 0...5 { #expect(!queue.mustWait(owner)) }
    }

    @Test("of the waiting owners, the one that has taken least goes first")
    func least() async {
        var done: [UInt32] = []
        await withCheckedContinuation { continuation in
            for owner: UInt32 in 1...2 {
                for _ in 0..<2 {
                    queue.append(of: owner) {
                        done.append(owner)
                        queue.note(100_000, by: owner)
                        if done.count == 1 { queue.append(of: 11) { done.append(11) } }
                        if done.count == 5 { continuation.resume() }
                    }
                }
            }
        }
        #expect(done.prefix(3) == [1, 2, 11])
    }

    @Test("an owner that has used some of the turn while its long work waits is served after one that has not")
    func charged() async {
        var done: [String] = []
        await withCheckedContinuation { continuation in
            queue.append(of: 1, estimate: 100_000) { done.append("a1") }
            queue.append(of: 1, estimate: 100_000) {
                done.append("a2")
                continuation.resume()
            }
            queue.note(500_000, by: 1)
            queue.append(of: 2, estimate: 100_000) { done.append("b") }
        }
        #expect(done == ["b", "a1", "a2"])
    }

    @Test("short work is done before long work that has waited longer, even by an owner that has taken more")
    func short() async {
        var done: [String] = []
        await withCheckedContinuation { continuation in
            for owner: UInt32 in 1...3 {
                queue.append(of: owner, estimate: 100_000) {
                    done.append("long")
                    if owner == 3 { continuation.resume() }
                }
            }
            queue.note(500_000, by: 4)
            queue.append(of: 4) { done.append("short") }
        }
        #expect(done == ["short", "long", "long", "long"])
    }

    @Test("the work of one owner stays in order, whether it is short or long")
    func mixed() async {
        var done: [Int] = []
        await withCheckedContinuation { continuation in
            for owner: UInt32 in 2...30 {
                queue.append(of: owner) {
                    take(.microseconds(100))
                }
            }
            for number in 0..<6 {
                queue.append(of: 1, estimate: number % 3 == 1 ? 100_000 : 0) {
                    done.append(number)
                    if number == 5 { continuation.resume() }
                }
            }
        }
        #expect(done == Array(0..<6))
    }

    @Test("work that took longer than expected comes after short work the next time")
    func underestimated() async {
        var done: [String] = []
        await withCheckedContinuation { continuation in
            for owner: UInt32 in 1...3 {
                queue.append(of: owner) {
                    take(.microseconds(60))
                    queue.append(of: owner) {
                        done.append("again")
                        if done.count == 4 { continuation.resume() }
                    }
                    if owner == 3 { queue.append(of: 4) { done.append("short") } }
                }
            }
        }
        #expect(done == ["short", "again", "again", "again"])
    }

    @Test("the more owners wait, the less another one may take at once; waiting owners also wait for its rest")
    func several() {
        for owner: UInt32 in 1...10 { queue.append(of: owner) {} }
        #expect(queue.mustWait(1))
        queue.note(90_000, by: 11)
        #expect(!queue.mustWait(11))
        queue.note(10_000, by: 11)
        #expect(queue.mustWait(11))
    }

    @Test("waiting work is done in a later turn, in order for each owner, and owners take turns")
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
        // The rest in the order of their times.
        #expect(done.prefix(2) == ["a1", "b1"])
        #expect(done.filter { $0.hasPrefix("a") } == ["a1", "a2", "a3"])
    }
}
