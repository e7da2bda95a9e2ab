// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import NotificationStreamsTestSupport
import Testing

/// A call of `forLatest` whose bodies tell what they do, and end when they are told.
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

    /// Lets the body of an identity end, which does not end for being cancelled.
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

@Suite("forLatest", .timeLimit(.minutes(1)))
struct ForLatestTests {
    @Test("Another identity cancels the body, and the next begins only when that one has ended")
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

    @Test("An identity equal to the newest is ignored while its body runs")
    func ignoresEqual() {
        let selections = Selections()
        selections.select("A")
        selections.select("A")
        #expect(selections.log.entries == ["A begins"])
        selections.end("A")
        selections.finish()
        #expect(selections.log.entries == ["A begins", "A ends", "all ended"])
    }

    @Test("A body that ended by itself is not begun again by an equal identity, and is by a different one")
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

    @Test("Identities that are superseded while a body is ending never begin")
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

    @Test("Of identities that are there before any body has begun, only the newest begins")
    func newestOfMany() {
        let selections = Selections()
        selections.select("A", "B", "C")
        #expect(selections.log.entries == ["C begins"])
        selections.end("C")
        selections.finish()
    }

    @Test("A body that was cancelled for another identity begins again when its own is the newest once more")
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

    @Test("When the sequence ends, the last body is let finish")
    func lastOneFinishes() {
        let selections = Selections()
        selections.select("A")
        selections.finish()
        #expect(selections.log.entries == ["A begins"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A ends", "all ended"])
    }

    @Test("An identity that waits for its turn when the sequence ends still gets it")
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

    @Test("A sequence without identities ends at once")
    func none() {
        let selections = Selections()
        selections.finish()
        #expect(selections.log.entries == ["all ended"])
    }

    @Test("Cancelling the caller cancels the body, waits for its end, and begins no other")
    func cancelled() {
        let selections = Selections()
        selections.select("A")
        selections.select("B")
        selections.cancel()
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "all ended"])
    }

    @Test("Cancelling the caller while the body runs, or before there is one, ends the call")
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
