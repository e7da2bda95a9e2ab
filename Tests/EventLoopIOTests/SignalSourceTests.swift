// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@Suite("Signals", .timeLimit(.minutes(1)))
@EventLoop struct SignalSourceTests {
    @Test("are handled on the loop, each time they arrive; a cancelled source gets no more")
    func handles() async throws {
        // A signal that is harmless if it is not handled. It is sent to the loop's own thread, where it is blocked.
        let signal = SIGWINCH
        SignalSource.block([signal])
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let source = try SignalSource(signal) { continuation.yield($0) }
        var iterator = signals.makeAsyncIterator()
        for _ in 0..<2 {
            raise(signal)
            #expect(await iterator.next() == signal)
        }
        source.cancel()
        raise(signal)
        let other = try SignalSource(signal) { continuation.yield($0 + 1000) }
        #expect(await iterator.next() == signal + 1000)
        other.cancel()
    }
}
