// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

/// An actor whose jobs run only when the test runs them.
private actor Caller {
    private let executor: StepExecutor.Actors

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(executor: StepExecutor.Actors) { self.executor = executor }

    func run(_ selections: AsyncStream<String>, _ body: @escaping @Sendable (String) async -> Void) async {
        await forLatest(of: selections, body)
    }
}

@Suite("The tasks of forLatest", .timeLimit(.minutes(5)))
struct ForLatestTaskTests {
    @TaskLocal private static var mark = "none"

    private func one(_ identity: String = "A") -> AsyncStream<String> {
        AsyncStream { stream in
            stream.yield(identity)
            stream.finish()
        }
    }

    @Test("a body's task is named after the call site, or as requested")
    func names() async {
        let log = Log<String?>()
        let line = #line + 1
        await forLatest(of: one()) { _ in log.append(Task.name) }
        await forLatest(of: one(), name: "watcher") { _ in log.append(Task.name) }
        #expect(log.entries == ["\(#fileID):\(line)", "watcher"])
    }

    @Test("a body's task has the requested priority and executor")
    func priorityAndExecutor() async {
        let (callers, preferred) = (StepExecutor(), StepExecutor())
        let log = Log<Bool>()
        let selections = one()
        let task = Task(executorPreference: callers) {
            await forLatest(of: selections, executorPreference: preferred, priority: .background) { _ in
                let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
                log.append(executor == preferred.asUnownedTaskExecutor())
                log.append(Task.basePriority == .background)
            }
        }
        while callers.run() + preferred.run() > 0 {}
        await task.value
        #expect(log.entries == [true, true])
    }

    @Test("a body inherits the caller's task-local values")
    func taskLocals() async {
        let log = Log<String>()
        await Self.$mark.withValue("the caller's") {
            await forLatest(of: one()) { _ in log.append(Self.mark) }
        }
        #expect(log.entries == ["the caller's"])
    }

    @Test("the sequence need not be Sendable")
    func notSendable() async {
        final class Count { var value = 0 }
        struct Counted: AsyncSequence {
            let count = Count()
            struct Iterator: AsyncIteratorProtocol {
                let count: Count
                mutating func next() async -> Int? { await next(isolation: #isolation) }
                mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
                    count.value += 1
                    return count.value <= 3 ? count.value : nil
                }
            }
            func makeAsyncIterator() -> Iterator { Iterator(count: count) }
        }
        let log = Log<Int>()
        await forLatest(of: Counted()) { log.append($0) }
        #expect(log.entries.last == 3)
    }

    @Test("a busy caller's actor delays neither the identities nor the bodies")
    func callersActor() async {
        let (executor, actorsExecutor, log) = (StepExecutor(), StepExecutor(), Log<String>())
        let actors = actorsExecutor.makeActors()
        let caller = Caller(executor: actors)
        let (selections, selection) = AsyncStream.makeStream(of: String.self)
        let task = Task(executorPreference: executor) { await caller.run(selections) { log.append($0) } }
        while executor.run() + actorsExecutor.run(actors: actors) > 0 {}
        for identity in ["A", "B"] {
            selection.yield(identity)
            executor.run()
        }
        #expect(log.entries == ["A", "B"])
        selection.finish()
        while executor.run() + actorsExecutor.run(actors: actors) > 0 {}
        await task.value
    }

    @Test("at full speed, bodies never overlap, begin in the order of the identities, and the last one runs")
    func fullSpeed() async {
        let (selections, selection) = AsyncStream.makeStream(of: Int.self)
        let occupancy = Occupancy()
        let log = Log<Int>()
        await withTaskGroup { group in
            group.addTask {
                for identity in 1...1000 {
                    selection.yield(identity)
                    await Task.yield()
                }
                selection.finish()
            }
            group.addTask {
                await forLatest(of: selections) { identity in
                    occupancy.enter()
                    log.append(identity)
                    if identity < 1000 {
                        await Gate.untilCancelled()
                    }
                    occupancy.leave()
                }
            }
        }
        #expect(occupancy.most == 1)
        #expect(log.entries == log.entries.sorted())
        #expect(log.entries.last == 1000)
    }
}
