// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@Suite("Sources of the event loop", .timeLimit(.minutes(5)))
@EventLoop
struct IOSourceTests {
    /// A pipe whose reading end is watched.
    private final class Pipe {
        let reading: OwnedDescriptor
        let writing: OwnedDescriptor

        init() {
            var ends: [Int32] = [-1, -1]
            let result = pipe(&ends)
            precondition(result == 0, "no pipe")
            reading = OwnedDescriptor(adopting: ends[0])
            writing = OwnedDescriptor(adopting: ends[1])
        }

        func fill() { _ = write(writing.rawValue, "x", 1) }

        func drain() {
            var byte: UInt8 = 0
            _ = read(reading.rawValue, &byte, 1)
        }
    }

    @Test("all sources that are ready at the same time are handled, however many")
    func handlesCrowds() async throws {
        let pipes = (0..<130).map { _ in Pipe() }
        var handled: Set<Int> = []
        var sources: [IOSource] = []
        for pipe in pipes { pipe.fill() }
        await withCheckedContinuation { continuation in
            sources = pipes.enumerated().compactMap { index, pipe in
                try? IOSource(pipe.reading, events: .readable) { _ in
                    pipe.drain()
                    handled.insert(index)
                    if handled.count == pipes.count { continuation.resume() }
                }
            }
        }
        #expect(handled.count == 130)
        for source in sources { source.cancel() }
    }

    @Test("a handler that cancels another ready source keeps it from being handled")
    func cancelsOthers() async throws {
        let pipes = (0..<10).map { _ in Pipe() }
        for pipe in pipes { pipe.fill() }
        var sources: [IOSource] = []
        var handled = 0
        await withCheckedContinuation { continuation in
            sources = pipes.compactMap { pipe in
                try? IOSource(pipe.reading, events: .readable) { _ in
                    handled += 1
                    for source in sources { source.cancel() }
                    // A source that replaces a cancelled source does not get its events.
                    let quiet = (0..<10).map { _ in Pipe() }
                    sources = quiet.compactMap { pipe in
                        try? IOSource(pipe.reading, events: .readable) { _ in handled += 100 }
                    }
                    EventLoop.atEndOfTurn {
                        for source in sources { source.cancel() }
                        withExtendedLifetime(quiet) {}
                        continuation.resume()
                    }
                }
            }
        }
        #expect(handled == 1)
    }

    @Test("a handler that empties another ready source's events keeps it from being handled")
    func silencesOthers() async throws {
        let pipes = (0..<10).map { _ in Pipe() }
        for pipe in pipes { pipe.fill() }
        var sources: [IOSource] = []
        var handled = 0
        await withCheckedContinuation { continuation in
            sources = pipes.compactMap { pipe in
                try? IOSource(pipe.reading, events: .readable) { _ in
                    handled += 1
                    for source in sources { source.events = [] }
                    EventLoop.atEndOfTurn { continuation.resume() }
                }
            }
        }
        #expect(handled == 1)
        for source in sources { source.cancel() }
    }

    @Test("a source without events is silent, even when its peer has gone, and reports events once it has some")
    func pauses() async throws {
        let pipe = Pipe()
        pipe.fill()
        var heard = 0
        let source = try IOSource(pipe.reading, events: []) { _ in heard += 1 }
        // Another source's event shows that the loop has checked.
        let other = Pipe()
        other.fill()
        var witness: IOSource?
        await withCheckedContinuation { continuation in
            witness = try? IOSource(other.reading, events: .readable) { _ in
                witness?.cancel()
                continuation.resume()
            }
        }
        #expect(heard == 0)
        var again: IOSource?
        source.cancel()
        await withCheckedContinuation { continuation in
            again = try? IOSource(pipe.reading, events: []) { events in
                #expect(events.contains(.readable))
                again?.events = []
                continuation.resume()
            }
            again?.events = .readable
        }
        again?.cancel()
    }

    @Test("a descriptor that cannot be watched is refused")
    func refuses() async throws {
        #expect(throws: IOError.self) {
            try IOSource(OwnedDescriptor(adopting: -1), events: .readable) { _ in }
        }
    }

    @Test("a source whose descriptor cannot be watched for now retries")
    func triesAgain() async throws {
        // A regular file cannot be watched (epoll_ctl(2)), and a pipe takes its number later.
        let descriptor = OwnedDescriptor(adopting: open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
        var source: IOSource?
        let events = await withCheckedContinuation { (continuation: CheckedContinuation<IOSource.Events, Never>) in
            source = try? IOSource(descriptor, events: []) {
                source?.events = []
                continuation.resume(returning: $0)
            }
            source?.events = .readable
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            #expect(dup2(ends[0], descriptor.rawValue) == descriptor.rawValue)
            close(ends[0])
            close(ends[1])
        }
        #expect(events == .hangUp)
        source?.cancel()
    }

    @Test("a watched descriptor stays open, so that no other source gets its number and loses its events")
    func holdsDescriptor() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[1]) }
        let source = try IOSource(OwnedDescriptor(adopting: ends[0]), events: .readable) { _ in }
        #expect(fcntl(ends[0], F_GETFD) >= 0)
        source.cancel()
        var pipeEnd = pollfd(fd: ends[1], events: 0, revents: 0)
        #expect(poll(&pipeEnd, 1, 0) == 1 && pipeEnd.revents & Int16(POLLERR) != 0)
    }
}
