// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import NotificationStreams

@Suite("The notification bus", .timeLimit(.minutes(5)))
struct NotificationBusTests {
    let bus = NotificationBus()

    @Test("every post after the iterator was created is delivered")
    func registersWithTheIterator() async {
        let server = Server(bus: bus)
        let sequence = bus.notifications(named: .didUpdateStatus, object: server)
        server.post("before")
        var iterator = sequence.makeAsyncIterator()
        server.post("one")
        server.post("two")
        #expect(await iterator.next()?.status == "one")
        server.post("three")
        #expect(await iterator.next()?.status == "two")
        #expect(await iterator.next()?.status == "three")
    }

    @Test("only notifications of the name and from the object are delivered")
    func filters() async {
        let (server, other) = (Server(bus: bus), Server(bus: bus))
        var iterator = bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        other.post("another server's")
        bus.post(name: .didMove, object: server, userInfo: ServerMoved())
        Server(bus: NotificationBus()).post("another bus's")
        server.post("mine")
        #expect(await iterator.next()?.status == "mine")
    }

    @Test("an observer without an object gets the notifications of every object")
    func followsAll() async {
        let (server, other) = (Server(bus: bus), Server(bus: bus))
        var all = bus.notifications(named: .didUpdateStatus).makeAsyncIterator()
        var one = bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        other.post("other")
        server.post("server")
        #expect(await all.next()?.status == "other")
        #expect(await all.next()?.status == "server")
        #expect(await one.next()?.status == "server")
    }

    @Test("each observer of one server has its own buffering policy")
    func policiesAreIndependent() async {
        let executor = StepExecutor()
        let server = Server(bus: bus)
        let policies: [NotificationBufferingPolicy] = [.unbounded, .bufferingOldest(2), .bufferingNewest(1)]
        let logs = policies.map { _ in Log<String>() }
        let gate = Gate()
        let tasks = zip(policies, logs).map { policy, log in
            Task(executorPreference: executor) { [bus] in
                var iterator = bus.notifications(named: .didUpdateStatus, object: server, bufferingPolicy: policy)
                    .makeAsyncIterator()
                await gate.pass()
                while let update = await iterator.next() { log.append(update.status) }
            }
        }
        executor.run()
        for status in 1...4 { server.post("\(status)") }
        gate.open()
        executor.run()
        #expect(logs.map(\.entries) == [["1", "2", "3", "4"], ["1", "2"], ["4"]])
        for task in tasks { task.cancel() }
        executor.run()
        for task in tasks { await task.value }
    }

    @Test("user info is not evaluated if its object has no observer")
    func unobservedCostsNothing() async {
        let (server, other) = (Server(bus: bus), Server(bus: bus))
        var made = 0
        func update(_ status: String) -> StatusUpdate {
            made += 1
            return StatusUpdate(status: status)
        }
        var iterator = bus.notifications(named: .didUpdateStatus, object: other).makeAsyncIterator()
        bus.post(name: .didUpdateStatus, object: server, userInfo: update("unobserved"))
        #expect(made == 0)
        bus.post(name: .didUpdateStatus, object: other, userInfo: update("observed"))
        #expect(made == 1)
        #expect(await iterator.next()?.status == "observed")
    }

    @Test("an observer lives as long as its iterator, and keeps its object alive")
    func livesWithIterator() {
        weak var server: Server?
        weak var storage: NotificationStorage?
        var iterator: NotificationBus.Notifications<StatusUpdate>.Iterator?
        do {
            let made = Server(bus: bus)
            iterator = bus.notifications(named: .didUpdateStatus, object: made).makeAsyncIterator()
            server = made
            storage = iterator?.subscription.storage
        }
        #expect(server != nil)
        #expect(storage != nil)
        iterator = nil
        #expect(server == nil)
        #expect(storage == nil)
    }

    @Test("a cancelled wait removes its observer at once, even if the iterator stays")
    func cancelRemovesObserver() async {
        let executor = StepExecutor()
        let gate = Gate()
        let server = Server(bus: bus)
        let task = Task(executorPreference: executor) { [bus] in
            var iterator = bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
            while await iterator.next() != nil {}
            await gate.pass()
            withExtendedLifetime(iterator) {}
        }
        executor.run()
        task.cancel()
        executor.run()
        var made = 0
        func update() -> StatusUpdate {
            made += 1
            return StatusUpdate(status: "after the end")
        }
        bus.post(name: .didUpdateStatus, object: server, userInfo: update())
        #expect(made == 0)
        gate.open()
        executor.run()
        await task.value
    }

    @Test("a cancelled consumer gets none of the buffered notifications")
    func dropsBuffer() async {
        let executor = StepExecutor()
        let server = Server(bus: bus)
        let (gate, log) = (Gate(), Log<String>())
        let task = Task(executorPreference: executor) { [bus] in
            for await update in bus.notifications(named: .didUpdateStatus, object: server) {
                log.append(update.status)
                await gate.pass()
            }
        }
        executor.run()
        for status in 1...10 { server.post("\(status)") }
        executor.run()
        task.cancel()
        gate.open()
        executor.run()
        await task.value
        #expect(log.entries == ["1"])
    }

    @Test("a consumer gets all posts of several threads, in the order of each thread")
    func concurrentPosts() async {
        let server = Server(bus: bus)
        var iterator = bus.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        await withTaskGroup { group in
            for thread in 0..<4 {
                group.addTask { for number in 0..<250 { server.post("\(thread) \(number)") } }
            }
        }
        var received: [Int: [Int]] = [:]
        for _ in 0..<1000 {
            let words = await iterator.next()?.status.split(separator: " ").compactMap { Int($0) } ?? []
            #expect(words.count == 2)
            received[words[0], default: []].append(words[1])
        }
        #expect(received == Dictionary(uniqueKeysWithValues: (0..<4).map { ($0, Array(0..<250)) }))
    }
}
