// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Systemd

@Suite("Threads for system calls", .timeLimit(.minutes(1))) struct SystemCallThreadsTests {
    @Test("each call is made, also if the thread is just about to end because there was none")
    func endingThread() async {
        let threads = SystemCallThreads(limit: 1, .withSleepers, lingering: 0)
        for _ in 0..<20_000 {
            await withCheckedContinuation { continuation in threads.perform { continuation.resume() } }
        }
        #expect(threads.count <= 1)
    }

    private final class Meeting: Sendable {
        let count = Mutex(0)
    }

    @Test("calls that wait for each other are made side by side, by as many threads as there are calls")
    func sideBySide() async {
        let threads = SystemCallThreads(limit: 8, .withCalls)
        let meeting = Meeting()
        let ended = AsyncStream<Void>.makeStream()
        for _ in 0..<8 {
            threads.perform {
                meeting.count.withLock { $0 += 1 }
                while meeting.count.withLock({ $0 }) < 8 {}
                ended.continuation.yield()
            }
        }
        var count = 0
        for await _ in ended.stream {
            count += 1
            if count == 8 { break }
        }
        #expect(count == 8)
    }
}
