// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Foundation
import Glibc
import Testing

@Suite("Signals", .serialized, .timeLimit(.minutes(5)))
@EventLoop struct SignalSourceTests {
    // A signal that is harmless if it is not handled. It is sent to the loop's thread, where it is blocked.
    private let signal = SIGWINCH

    init() { SignalSource.block([signal]) }

    @Test("are handled on the loop each time they arrive; a cancelled source gets no more signals")
    func handles() async throws {
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

    @Test("do not reach a cancelled source, even if a process that is being started holds its descriptor")
    func copies() async throws {
        let source = try SignalSource(signal) { _ in }
        // The child holds copies between fork and exec.
        let copies = try Self.signalDescriptors().map { OwnedDescriptor(adopting: dup($0)) }
        #expect(!copies.isEmpty)
        source.cancel()
        raise(signal)
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let other = try SignalSource(signal) { continuation.yield($0) }
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() == signal)
        other.cancel()
        withExtendedLifetime(copies) {}
    }

    private static func signalDescriptors() throws -> [Int32] {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == "anon_inode:[signalfd]"
        }.compactMap(Int32.init)
    }
}
