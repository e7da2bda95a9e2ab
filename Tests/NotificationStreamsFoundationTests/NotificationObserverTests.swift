// SPDX-License-Identifier: Apache-2.0

import Foundation
import NotificationStreams
import TestSupport
import Testing

@testable import NotificationStreamsFoundation

@Suite("The observer of a notification iterator")
struct NotificationObserverTests {
    let center = NotificationCenter()

    /// Objects held only by the iterator and by the observer's block, which the center holds.
    private struct Traces {
        weak var server: Server?
        weak var storage: NotificationStorage?
    }

    @Test("an observer lives as long as its iterator, and keeps its object alive")
    func livesWithIterator() {
        var traces = Traces()
        var iterator: NotificationCenter.Notifications.Iterator?
        do {
            let server = Server(center: center)
            let made = center.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
            traces = Traces(server: server, storage: made.subscription.storage)
            iterator = made
        }
        #expect(traces.server != nil)
        #expect(traces.storage != nil)
        iterator = nil
        #expect(iterator == nil)
        #expect(traces.server == nil)
        #expect(traces.storage == nil)
    }

    @Test("a buffered notification does not outlive its iterator")
    func dropsBuffered() {
        weak var payload: Server?
        do {
            let iterator = center.notifications(named: .didUpdateStatus).makeAsyncIterator()
            let server = Server(center: center)
            server.signIn()
            payload = server
            withExtendedLifetime(iterator) {}
        }
        #expect(payload == nil)
    }

    @Test("a thousand cancelled consumers leave no observer", .timeLimit(.minutes(5)))
    func cancelledLeaveNone() async {
        let executor = StepExecutor()
        var traces: [Traces] = []
        for _ in 0..<1000 {
            let storages = Log<Traces>()
            let task = Task(executorPreference: executor) { [center] in
                let server = Server(center: center)
                var iterator = center.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
                storages.append(Traces(server: server, storage: iterator.subscription.storage))
                while await iterator.next() != nil {}
            }
            executor.run()
            traces += storages.entries
            task.cancel()
            executor.run()
            await task.value
        }
        #expect(traces.count == 1000)
        #expect(traces.allSatisfy { $0.server == nil && $0.storage == nil })
    }

    @Test("a cancelled wait removes its observer at once, even if the iterator stays", .timeLimit(.minutes(5)))
    func cancelEndsAtOnce() async {
        let executor = StepExecutor()
        let gate = Gate()
        let log = Log<String>()
        let task = Task(executorPreference: executor) { [center] in
            var iterator = center.notifications(named: .didUpdateStatus).makeAsyncIterator()
            while await iterator.next() != nil {}
            log.append("ended")
            await gate.pass()
            withExtendedLifetime(iterator) {}
        }
        executor.run()
        task.cancel()
        executor.run()
        #expect(log.entries == ["ended"])
        weak var payload: Server?
        do {
            let server = Server(center: center)
            payload = server
            server.signIn()
        }
        #expect(payload == nil)
        gate.open()
        executor.run()
        await task.value
    }
}
