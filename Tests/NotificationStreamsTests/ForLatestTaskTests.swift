// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import NotificationStreamsTestSupport
import Testing

@Suite("The tasks of forLatest", .timeLimit(.minutes(1)))
struct ForLatestTaskTests {
    @TaskLocal private static var mark = "none"

    private func one(_ identity: String = "A") -> AsyncStream<String> {
        AsyncStream { stream in
            stream.yield(identity)
            stream.finish()
        }
    }

    @Test("A body's task is named after the call site, or as asked")
    func names() async {
        let log = Log<String?>()
        let line = #line + 1
        await forLatest(of: one()) { _ in log.append(Task.name) }
        await forLatest(of: one(), name: "watcher") { _ in log.append(Task.name) }
        #expect(log.entries == ["\(#fileID):\(line)", "watcher"])
    }

    @Test("A body's task has the priority and the executor that were asked for")
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

    @Test("A body inherits the caller's task-local values, as a child task does")
    func taskLocals() async {
        let log = Log<String>()
        await Self.$mark.withValue("the caller's") {
            await forLatest(of: one()) { _ in log.append(Self.mark) }
        }
        #expect(log.entries == ["the caller's"])
    }

    @Test("Identities may come from a sequence that is not Sendable")
    func mapped() async {
        final class Count { var value = 0 }
        let count = Count()
        struct Counted: AsyncSequence {
            let count: Count
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
        await forLatest(of: Counted(count: count)) { log.append($0) }
        #expect(log.entries.last == 3)
        #expect(count.value == 4)
    }

    @Test("Under a thousand selections at full speed bodies never overlap, never go back, and the last one is run")
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
