// SPDX-License-Identifier: Apache-2.0

import Foundation
import NotificationStreams
import TestSupport
import Testing

@testable import NotificationStreamsFoundation

@Suite("A sequence of notifications")
struct NotificationsTests {
    let center = NotificationCenter()

    @Test("every post after the iterator was created is delivered", .timeLimit(.minutes(5)))
    func registersWithTheIterator() async {
        let server = Server(center: center)
        let sequence = center.notifications(named: .didUpdateStatus, object: server)
        server.post("before")
        var iterator = sequence.makeAsyncIterator()
        server.post("one")
        server.post("two")
        #expect(await iterator.next()?.status == "one")
        server.post("three")
        #expect(await iterator.next()?.status == "two")
        #expect(await iterator.next()?.status == "three")
    }

    @Test("each iterator gets every notification", .timeLimit(.minutes(5)))
    func iteratorsAreIndependent() async {
        let server = Server(center: center)
        let sequence = center.notifications(named: .didUpdateStatus, object: server)
        var one = sequence.makeAsyncIterator()
        var other = sequence.makeAsyncIterator()
        server.signIn()
        #expect(await one.next()?.status == "Signed In")
        #expect(await other.next()?.status == "Signed In")
    }

    @Test("only notifications of the name and from the object are delivered", .timeLimit(.minutes(5)))
    func filters() async {
        let (server, other) = (Server(center: center), Server(center: center))
        var iterator = center.notifications(named: .didUpdateStatus, object: server).makeAsyncIterator()
        other.post("another server's")
        center.post(Notification(name: .didUpdateStatus, userInfo: ["status": "no server's"]))
        center.post(Notification(name: Notification.Name("another"), object: server))
        server.post("mine")
        #expect(await iterator.next()?.status == "mine")
    }

    @Test("without an object, notifications from any object are delivered", .timeLimit(.minutes(5)))
    func hearsAll() async {
        let server = Server(center: center)
        var iterator = center.notifications(named: .didUpdateStatus).makeAsyncIterator()
        server.post("a server's")
        center.post(Notification(name: .didUpdateStatus, userInfo: ["status": "no server's"]))
        let notification = await iterator.next()
        #expect(notification?.object as? Server === server)
        #expect(await iterator.next()?.status == "no server's")
    }

    @Test(
        "the buffering policy decides which notifications are kept for a late consumer", .timeLimit(.minutes(5)),
        arguments: [
            (.unbounded, ["1", "2", "3", "4", "5"]),
            (.bufferingOldest(2), ["1", "2"]),
            (.bufferingNewest(2), ["4", "5"]),
            (.bufferingOldest(0), []),
            (.bufferingNewest(0), []),
        ] as [(NotificationCenter.Notifications.BufferingPolicy, [String])])
    func buffers(policy: NotificationCenter.Notifications.BufferingPolicy, kept: [String]) async {
        let executor = StepExecutor()
        let server = Server(center: center)
        let log = Log<String?>()
        let task = Task(executorPreference: executor) { [center] in
            let sequence = center.notifications(named: .didUpdateStatus, object: server, bufferingPolicy: policy)
            var iterator = sequence.makeAsyncIterator()
            for status in 1...5 {
                server.post("\(status)")
            }
            while let notification = await iterator.next() {
                log.append(notification.status)
            }
        }
        executor.run()
        #expect(log.entries == kept)
        // A waiting consumer needs no buffer.
        server.post("6")
        executor.run()
        #expect(log.entries == kept + ["6"])
        task.cancel()
        executor.run()
        await task.value
    }
}
