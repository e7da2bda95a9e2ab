// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

/// A call of `forLatest` whose bodies log what they do, and end when the test says so.
private final class Selections: Sendable {
    let executor = StepExecutor()
    let log = Log<String>()
    private let ends: [String: Gate] = ["A": Gate(), "B": Gate(), "C": Gate()]
    private let selections: (stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation)
    private let task: Task<Void, Never>

    init() {
        let (executor, log, ends) = (executor, log, ends)
        let selections = AsyncStream.makeStream(of: String.self)
        self.selections = selections
        task = Task(executorPreference: executor) {
            await forLatest(of: selections.stream) { identity in
                log.append("\(identity) begins")
                await withTaskCancellationHandler {
                    await ends[identity]?.pass()
                } onCancel: {
                    log.append("\(identity) cancelled")
                }
                log.append("\(identity) ends")
            }
            log.append("all ended")
        }
    }

    func select(_ identities: String...) {
        for identity in identities {
            selections.continuation.yield(identity)
        }
        executor.run()
    }

    /// Lets the body of an identity end; it does not end because it is cancelled.
    func end(_ identity: String) {
        ends[identity]?.open()
        executor.run()
    }

    func finish() {
        selections.continuation.finish()
        executor.run()
    }

    func cancel() {
        task.cancel()
        executor.run()
    }
}

@Suite("forLatest", .timeLimit(.minutes(5)))
struct ForLatestTests {
    @Test("a different identity cancels the body, and the next body begins only after that one has ended")
    func waitsForTheEnd() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "B begins"])
        selections.end("B")
        selections.finish()
        #expect(selections.log.entries.suffix(2) == ["B ends", "all ended"])
    }

    @Test("an equal identity is ignored while the body runs")
    func ignoresEqual() {
        let selections = Selections()
        selections.select("A")
        selections.select("A")
        #expect(selections.log.entries == ["A begins"])
        selections.end("A")
        selections.finish()
        #expect(selections.log.entries == ["A begins", "A ends", "all ended"])
    }

    @Test("after a body has returned, an equal identity changes nothing, and a different one begins a body")
    func endedByItself() {
        let selections = Selections()
        selections.select("A")
        selections.end("A")
        selections.select("A")
        #expect(selections.log.entries == ["A begins", "A ends"])
        selections.select("B")
        #expect(selections.log.entries == ["A begins", "A ends", "B begins"])
        selections.select("A")
        selections.end("B")
        #expect(selections.log.entries.suffix(4) == ["B cancelled", "B ends", "A begins", "A ends"])
        selections.finish()
        #expect(selections.log.entries.last == "all ended")
    }

    @Test("identities that are superseded while a body is ending never get a body")
    func newestWins() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        selections.select("C")
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "C begins"])
        selections.end("C")
        selections.finish()
    }

    @Test("of several identities before the first body, only the newest gets a body")
    func newestOfMany() {
        let selections = Selections()
        selections.select("A", "B", "C")
        #expect(selections.log.entries == ["C begins"])
        selections.end("C")
        selections.finish()
    }

    @Test("a cancelled body begins again if its identity becomes the newest again")
    func thereAndBack() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        selections.select("A")
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "A begins", "A ends"])
        selections.finish()
        #expect(selections.log.entries.last == "all ended")
    }

    @Test("when the sequence ends, the last body runs to its end")
    func lastOneFinishes() {
        let selections = Selections()
        selections.select("A")
        selections.finish()
        #expect(selections.log.entries == ["A begins"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A ends", "all ended"])
    }

    @Test("an identity that waits for its turn when the sequence ends still gets its body")
    func lastOneBegins() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        selections.finish()
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "B begins"])
        selections.end("B")
        #expect(selections.log.entries.suffix(2) == ["B ends", "all ended"])
    }

    @Test("an empty sequence ends the call at once")
    func none() {
        let selections = Selections()
        selections.finish()
        #expect(selections.log.entries == ["all ended"])
    }

    @Test("cancelling the caller cancels the body and waits for its end, and no other body begins")
    func cancelled() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        selections.cancel()
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "all ended"])
    }

    @Test("cancelling the caller ends the call, with or without a running body")
    func cancelledEarly() {
        let running = Selections()
        running.select("A")
        running.cancel()
        running.end("A")
        #expect(running.log.entries == ["A begins", "A cancelled", "A ends", "all ended"])
        let waiting = Selections()
        waiting.executor.run()
        waiting.cancel()
        #expect(waiting.log.entries == ["all ended"])
        let fresh = Selections()
        fresh.cancel()
        #expect(fresh.log.entries == ["all ended"])
    }
}
