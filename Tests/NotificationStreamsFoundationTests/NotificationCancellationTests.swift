// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import NotificationStreamsFoundation

@Suite("Cancelling a consumer of notifications")
struct NotificationCancellationTests {
    let center = NotificationCenter()

    @Test("a cancelled consumer gets none of the buffered notifications", .timeLimit(.minutes(5)))
    func dropsBuffer() async {
        let executor = StepExecutor()
        let server = Server(center: center)
        let (gate, log) = (Gate(), Log<String?>())
        let task = Task(executorPreference: executor) { [center] in
            for await notification in center.notifications(named: .didUpdateStatus, object: server) {
                log.append(notification.status)
                await gate.pass()
            }
        }
        executor.run()
        for status in 1...10 {
            server.post("\(status)")
        }
        executor.run()
        task.cancel()
        gate.open()
        executor.run()
        await task.value
        #expect(log.entries == ["1"])
    }

    @Test(
        "a consumer that is cancelled after a notification resumed it and before it runs does not get that notification"
    )
    func dropsHandedOver() async {
        let executor = StepExecutor()
        let server = Server(center: center)
        let log = Log<String?>()
        let task = Task(executorPreference: executor) { [center] in
            for await notification in center.notifications(named: .didUpdateStatus, object: server) {
                log.append(notification.status)
            }
        }
        executor.run()
        server.signIn()
        task.cancel()
        executor.run()
        await task.value
        #expect(log.entries.isEmpty)
    }

    @Test("a task that is cancelled before it begins gets nothing, even from later calls of next()")
    func cancelledBefore() async {
        let executor = StepExecutor()
        let server = Server(center: center)
        let log = Log<String?>()
        let task = Task(executorPreference: executor) { [center] in
            var iterator = center.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
            server.post("buffered")
            log.append(await iterator.next()?.status)
            server.post("after the end")
            log.append(await iterator.next()?.status)
        }
        task.cancel()
        executor.run()
        await task.value
        #expect(log.entries == [nil, nil])
    }

    @Test("a thousand consumers that are begun and cancelled during posts all end", .timeLimit(.minutes(5)))
    func thousandRounds() async {
        let server = Server(center: center)
        let ended = await withTaskGroup(of: Int.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    server.signIn()
                    await Task.yield()
                }
                return 0
            }
            group.addTask { [center] in
                var ended = 0
                for round in 0..<1000 {
                    let (began, begin) = AsyncStream.makeStream(of: Void.self)
                    let consumer = Task {
                        let sequence = center.notifications(named: .didUpdateStatus, object: server)
                        begin.finish()
                        for await _ in sequence {}
                    }
                    // Every other round is cancelled at an arbitrary point, possibly before it has begun.
                    if round.isMultiple(of: 2) {
                        for await _ in began {}
                    }
                    consumer.cancel()
                    await consumer.value
                    ended += 1
                }
                return ended
            }
            // The rounds end first, because the other task posts until it is cancelled.
            var ended = 0
            while let rounds = await group.next() {
                ended += rounds
                group.cancelAll()
            }
            return ended
        }
        #expect(ended == 1000)
    }
}
