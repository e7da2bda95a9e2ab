// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

@Suite("Errors in forLatest", .timeLimit(.minutes(5)))
struct ForLatestErrorTests {
    @Test("if a body throws while the sequence waits, the wait is cancelled, and the error is thrown when it has ended")
    func bodyThrows() {
        let selections = FailingSelections(bodies: ["A": BodyError()])
        selections.select("A")
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A ends", "wait cancelled"])
        selections.endWait()
        #expect(selections.log.entries.suffix(2) == ["wait ends", "threw BodyError()"])
    }

    @Test("if the sequence throws while a body runs, the body is cancelled, and the error is thrown when it has ended")
    func sequenceThrows() {
        let selections = FailingSelections()
        selections.select("A")
        selections.finish(throwing: SequenceError())
        #expect(selections.log.entries == ["A begins", "A cancelled"])
        selections.end("A")
        #expect(selections.log.entries.suffix(2) == ["A ends", "threw SequenceError()"])
    }

    @Test("if the sequence throws before any identity, the error is thrown")
    func sequenceThrowsAtOnce() {
        let selections = FailingSelections()
        selections.finish(throwing: SequenceError())
        #expect(selections.log.entries == ["threw SequenceError()"])
    }

    @Test("if the sequence throws while an identity waits for its turn, that identity never gets a body")
    func sequenceThrowsWhilePending() {
        let selections = FailingSelections()
        selections.select("A")
        selections.select("B")
        selections.finish(throwing: SequenceError())
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "threw SequenceError()"])
    }

    @Test(
        "if a superseded body throws, the next body still begins",
        arguments: [CancellationError(), BodyError()] as [any Error])
    func supersededBodyThrows(error: any Error) {
        let selections = FailingSelections(bodies: ["A": error])
        selections.select("A")
        selections.select("B")
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A cancelled", "A ends", "B begins"])
        selections.end("B")
        selections.finish()
        #expect(selections.log.entries.suffix(2) == ["B ends", "returned"])
    }

    @Test("if a superseded body throws after the sequence has ended, the last body still begins")
    func supersededBodyThrowsAtTheEnd() {
        let selections = FailingSelections(bodies: ["A": CancellationError()])
        selections.select("A")
        selections.select("B")
        selections.finish()
        selections.end("A")
        selections.end("B")
        #expect(selections.log.entries.suffix(4) == ["A ends", "B begins", "B ends", "returned"])
    }

    @Test("a CancellationError from a body that was not cancelled is thrown like any other error")
    func cancellationErrorOfItsOwn() {
        let selections = FailingSelections(bodies: ["A": CancellationError()])
        selections.select("A")
        selections.end("A")
        selections.endWait()
        #expect(selections.log.entries.last == "threw CancellationError()")
    }

    @Test("if the last body throws after the sequence has ended, the error is thrown")
    func lastBodyThrows() {
        let selections = FailingSelections(bodies: ["A": BodyError()])
        selections.select("A")
        selections.finish()
        selections.end("A")
        #expect(selections.log.entries == ["A begins", "A ends", "threw BodyError()"])
    }

    @Test("only the first error is thrown: the sequence's before the body's, or the other way round")
    func firstErrorWins() {
        let sequenceFirst = FailingSelections(bodies: ["A": BodyError()])
        sequenceFirst.select("A")
        sequenceFirst.finish(throwing: SequenceError())
        sequenceFirst.end("A")
        #expect(sequenceFirst.log.entries.last == "threw SequenceError()")
        let bodyFirst = FailingSelections(bodies: ["A": BodyError()], cancelledWait: SequenceError())
        bodyFirst.select("A")
        bodyFirst.end("A")
        bodyFirst.endWait()
        #expect(bodyFirst.log.entries.last == "threw BodyError()")
    }

    @Test("if the caller is cancelled, the body's error is thrown when the body and the sequence have ended")
    func cancelledBodyThrows() {
        let selections = FailingSelections(bodies: ["A": CancellationError()])
        selections.select("A")
        selections.cancel()
        selections.end("A")
        #expect(selections.log.entries.sorted() == ["A begins", "A cancelled", "A ends", "wait cancelled"])
        selections.endWait()
        #expect(selections.log.entries.suffix(2) == ["wait ends", "threw CancellationError()"])
    }

    @Test("if the caller is cancelled, the sequence's error is thrown, and without an error the call returns")
    func cancelledSequenceThrows() {
        for error in [SequenceError(), nil] as [SequenceError?] {
            let selections = FailingSelections(cancelledWait: error)
            selections.select("A")
            selections.cancel()
            selections.end("A")
            selections.endWait()
            #expect(selections.log.entries.last == (error == nil ? "returned" : "threw SequenceError()"))
        }
    }

    @Test("with a sequence that cannot fail, the body's error keeps its type")
    func typedErrors() async {
        let one = AsyncStream { stream in
            stream.yield(1)
            stream.finish()
        }
        do {
            try await forLatest(of: one) { _ throws(BodyError) in throw BodyError() }
            Issue.record("the body's error was lost")
        } catch {
            let typed: BodyError = error
            _ = typed
        }
    }

    @Test(
        "at full speed, bodies that throw when they are superseded do not end the call, and the last one's error does")
    func fullSpeed() async {
        let (selections, selection) = AsyncStream.makeStream(of: Int.self)
        let ended = Log<Int>()
        await withTaskGroup { group in
            group.addTask {
                for identity in 1...1000 {
                    selection.yield(identity)
                    await Task.yield()
                }
            }
            group.addTask {
                await #expect(throws: BodyError.self) {
                    try await forLatest(of: selections) { identity in
                        defer { ended.append(identity) }
                        guard identity < 1000 else { throw BodyError() }
                        await Gate.untilCancelled()
                        throw CancellationError()
                    }
                }
            }
        }
        #expect(ended.entries.last == 1000)
    }
}
