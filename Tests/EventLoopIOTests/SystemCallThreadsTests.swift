// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing

@testable import EventLoopIO

@Suite("Threads for system calls", .timeLimit(.minutes(1))) struct SystemCallThreadsTests {
    @Test("each call is made, even if the thread is just about to end for lack of calls")
    func endingThread() async {
        let threads = SystemCallThreads(limit: 1, .withSleepers, lingering: 0)
        for _ in 0..<20_000 {
            await withCheckedContinuation { continuation in threads.perform { continuation.resume() } }
        }
    }

    @Test("while all calls sleep, another one runs concurrently")
    @EventLoop func asleep() async throws {
        let threads = SystemCallThreads(limit: 2, .withSleepers)
        let pipe = try #require(OwnedDescriptor.makePipe())
        _ = fcntl(pipe.reading.rawValue, F_SETFL, 0)
        await withCheckedContinuation { continuation in
            threads.perform {
                var byte: UInt8 = 0
                while read(pipe.reading.rawValue, &byte, 1) < 0 {}
                continuation.resume()
            }
            threads.perform { _ = write(pipe.writing.rawValue, [1], 1) }
        }
    }

    private final class Meeting: Sendable {
        let count = Mutex(0)
    }

    @Test("calls that wait for each other run concurrently, on as many threads as there are calls")
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
