// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import EventLoopIO

@Suite("Threads that may block", .timeLimit(.minutes(5))) struct BlockingThreadsTests {
    /// Lookups that hang until the test releases them.
    private final class Hanging: Sendable {
        let gate = DispatchSemaphore(value: 0)
        private let counts = Mutex((running: 0, most: 0))
        private let began = AsyncStream<Void>.makeStream()

        var most: Int { counts.withLock { $0.most } }

        @Sendable func body() {
            counts.withLock { counts in
                counts.running += 1
                counts.most = max(counts.most, counts.running)
            }
            began.continuation.yield()
            gate.wait()
            counts.withLock { $0.running -= 1 }
        }

        func began(_ count: Int) async {
            var left = count
            for await _ in began.stream {
                left -= 1
                if left == 0 { return }
            }
        }
    }

    @Test("hanging lookups delay no other task, are limited in number, and queued lookups run later")
    func hanging() async throws {
        let hanging = Hanging()
        let threads = BlockingThreads(limit: 128)
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<300 { group.addTask { try await threads.run { hanging.body() } } }
            await hanging.began(128)
            #expect(await threads.isFull)
            // As many tasks as there could be threads: each runs while all lookups hang.
            await withTaskGroup(of: Int.self) { tasks in
                for number in 0..<1000 { tasks.addTask { number } }
                #expect(await tasks.reduce(0, +) == 499_500)
            }
            for _ in 0..<300 { hanging.gate.signal() }
        }
        #expect(hanging.most == 128)
    }

    @Test("an error from a lookup is thrown")
    func fails() async throws {
        let threads = BlockingThreads(limit: 128)
        await #expect(throws: FailedLookUp.self) {
            try await threads.run { throw FailedLookUp(host: "nowhere", unansweredFor: "3s") }
        }
    }
}
