// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Barriers to the service manager", .timeLimit(.minutes(5)))
@EventLoop struct SharedBarrierTests {
    /// A receiver that reaches a barrier when the test says so.
    @EventLoop private final class Receiver {
        private(set) var received: [OwnedDescriptor] = []
        let isReached = AsyncStream<Void>.makeStream()

        func take(_ descriptor: OwnedDescriptor) {
            received.append(descriptor)
            isReached.continuation.yield()
        }

        func handleAll() { received = [] }
    }

    @Test("callers that arrive while a barrier is under way share the next one")
    func shared() async {
        let receiver = Receiver()
        let barrier = SharedBarrier { receiver.take($0) }
        var sent = receiver.isReached.stream.makeAsyncIterator()
        var done = 0
        let wait: @EventLoop @Sendable () async -> Void = {
            await barrier.wait(within: .seconds(60))
            done += 1
        }
        let first = Task(operation: wait)
        await sent.next()
        let others = (0..<10).map { _ in Task(operation: wait) }
        while barrier.waiting < 11 { await Task.yield() }
        #expect(receiver.received.count == 1)
        receiver.handleAll()
        await first.value
        await sent.next()
        #expect((receiver.received.count, done) == (1, 1))
        receiver.handleAll()
        for other in others { await other.value }
        #expect((done, barrier.waiting) == (11, 0))
    }

    @Test("a caller stops waiting for a receiver that does not reach the barrier")
    func deaf() async {
        let receiver = Receiver()
        let barrier = SharedBarrier { receiver.take($0) }
        await barrier.wait(within: .milliseconds(1))
        await barrier.wait(within: .milliseconds(1))
        #expect((receiver.received.count, barrier.waiting) == (1, 0))
    }
}
