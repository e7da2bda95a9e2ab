// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport

struct BodyError: Error {}
struct SequenceError: Error {}

/// A call of `forLatest` whose bodies and sequence log their events, and end or fail when the test says so.
final class FailingSelections: Sendable {
    let log: Log<String>
    private let executor = StepExecutor()
    private let ends = ["A": Gate(), "B": Gate()]
    private let selections: HeldStream
    private let task: Task<Void, Never>

    /// Begins the call.
    ///
    /// - Parameters:
    ///   - errors: The errors that the bodies throw when they end.
    ///   - cancelledWait: The error that the sequence throws when its wait for an identity is cancelled.
    init(bodies errors: [String: any Error] = [:], cancelledWait: (any Error)? = nil) {
        let selections = HeldStream(cancelledWait: cancelledWait)
        let (log, ends) = (selections.log, ends)
        (self.log, self.selections) = (log, selections)
        task = Task(executorPreference: executor) {
            do {
                try await forLatest(of: selections) { identity in
                    log.append("\(identity) begins")
                    await withTaskCancellationHandler {
                        await ends[identity]?.pass()
                    } onCancel: {
                        log.append("\(identity) cancelled")
                    }
                    log.append("\(identity) ends")
                    if let error = errors[identity] { throw error }
                }
                log.append("returned")
            } catch {
                log.append("threw \(error)")
            }
        }
        executor.run()
    }

    func select(_ identity: String) {
        selections.continuation.yield(identity)
        executor.run()
    }

    func finish(throwing error: (any Error)? = nil) {
        selections.continuation.finish(throwing: error)
        executor.run()
    }

    /// Lets the body of an identity end.
    func end(_ identity: String) {
        ends[identity]?.open()
        executor.run()
    }

    /// Lets the sequence end a wait that was cancelled.
    func endWait() {
        selections.end.open()
        executor.run()
    }

    func cancel() {
        task.cancel()
        executor.run()
    }
}

/// A stream whose cancelled wait continues until the test ends it.
private struct HeldStream: AsyncSequence {
    let log = Log<String>()
    let end = Gate()
    let cancelledWait: (any Error)?
    private let made = AsyncThrowingStream.makeStream(of: String.self, throwing: (any Error).self)

    var continuation: AsyncThrowingStream<String, any Error>.Continuation { made.continuation }

    struct Iterator: AsyncIteratorProtocol {
        let held: HeldStream
        var base: AsyncThrowingStream<String, any Error>.Iterator

        mutating func next() async throws -> String? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            if let identity = try await base.next(isolation: actor) { return identity }
            guard Task.isCancelled else { return nil }
            held.log.append("wait cancelled")
            await held.end.pass()
            held.log.append("wait ends")
            if let error = held.cancelledWait { throw error }
            return nil
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(held: self, base: made.stream.makeAsyncIterator()) }
}
