// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import EventLoopIO

@Suite("The event loop", .timeLimit(.minutes(5))) struct EventLoopTests {
    @Test("all work from another thread runs on the loop, in order")
    func order() async {
        let seen = Seen<Int>()
        for number in 0..<10_000 {
            EventLoop.perform { seen.append(number) }
        }
        await EventLoop.run {}
        #expect(seen.all == Array(0..<10_000))
    }

    @Test("no wake-up is lost between threads that pass work to one another")
    func wakeUps() async {
        for _ in 0..<20_000 { await EventLoop.run {} }
    }

    @Test("nothing runs between a task on the loop and the functions of the loop that it calls")
    @EventLoop func staysOnTheLoop() async {
        let seen = Seen<String>()
        // Unstructured, so that its job waits for the loop while this one runs.
        let other = Task { @EventLoop in seen.append("other") }
        await continuation(of: seen)
        await other.value
        #expect(seen.all == ["continuation", "after", "other"])
    }

    @EventLoop private func continuation(of seen: Seen<String>) async {
        if seen.all.isEmpty {
            await withCheckedContinuation { continuation in
                seen.append("continuation")
                continuation.resume()
            }
        }
        seen.append("after")
    }

    @Test("work deferred to the end of the turn runs after the jobs before it")
    func endOfTurn() async {
        let seen = Seen<String>()
        await withCheckedContinuation { continuation in
            EventLoop.perform {
                EventLoop.atEndOfTurn {
                    seen.append("end")
                    continuation.resume()
                }
                seen.append("first")
            }
        }
        #expect(seen.all == ["first", "end"])
    }

    @Test("jobs do not pile up if each turn creates more jobs than it has time for")
    @EventLoop func noPile() async {
        let jobs = JobCount()
        await withCheckedContinuation { continuation in
            jobs.start(40, inEachOf: 60) { continuation.resume() }
        }
        // Otherwise nearly all of the 2400 jobs wait at once.
        #expect(jobs.most < 1200)
    }

    @Test("timers fire in the order of their times, and a time can be moved")
    func timers() async throws {
        let fired = Seen<String>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            EventLoop.perform {
                do {
                    let late = try TimerSource {
                        fired.append("late")
                        continuation.resume()
                    }
                    // The late timer is moved far away, and back once the early one has fired: this holds on a slow
                    // machine too.
                    let early = try TimerSource {
                        fired.append("early")
                        late.schedule(after: .zero)
                    }
                    late.schedule(after: .zero)
                    late.schedule(after: .seconds(3600))
                    early.schedule(after: .milliseconds(1))
                    EventLoopTests.keep.withLock { $0 += [late, early] }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        #expect(fired.all == ["early", "late"])
    }

    @Test("a timer in the very distant future does not fire at once")
    func farTimer() async throws {
        let fired = Seen<String>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            EventLoop.perform {
                do {
                    let far = try TimerSource { fired.append("far") }
                    let near = try TimerSource { continuation.resume() }
                    // A time in the past, which would remain if the next time cannot be set.
                    far.schedule(after: .zero)
                    far.schedule(after: .microseconds(Int64.max))
                    far.schedule(after: .seconds(Int64.max))
                    near.schedule(after: .milliseconds(1))
                    EventLoopTests.keep.withLock { $0 += [far, near] }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        #expect(fired.all == [])
    }

    /// Timers of tests, which must exist until they fire.
    private static let keep = Mutex<[TimerSource]>([])
}

/// Jobs that each take a tenth of a turn.
@EventLoop private final class JobCount {
    private var waiting = 0
    /// The most jobs that waited at a time.
    private(set) var most = 0

    func start(_ count: Int, inEachOf turns: Int, then: @escaping @EventLoop () -> Void) {
        guard turns > 0 else { return then() }
        for _ in 0..<count { start() }
        EventLoop.atNextTurn { self.start(count, inEachOf: turns - 1, then: then) }
    }

    private func start() {
        waiting += 1
        most = max(most, waiting)
        // Unstructured, to create a separate job.
        Task { @EventLoop in
            waiting -= 1
            let end = ContinuousClock.now + .microseconds(100)
            while .now < end {}
        }
    }
}

/// Recorded events, in order, from any thread.
final class Seen<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
