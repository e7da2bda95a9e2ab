// SPDX-License-Identifier: Apache-2.0

import Foundation
import NotificationStreams
import Synchronization

/// A post to a watcher, through this project's bus and through Swift's and Foundation's equivalents.
enum Notifying {
    static var subjects: [Subject] {
        [
            Subject(name: "NotificationBus, to a watcher", count: 300_000) { await busToWatcher($0) },
            Subject(name: "NotificationBus, unobserved", count: 1_000_000, run: { busUnobserved($0) }),
            Subject(name: "Foundation, to a block observer", count: 300_000, run: { foundationToBlock($0) }),
            Subject(name: "AsyncStream, to a consumer", count: 300_000) { await asyncStream($0) },
            Subject(name: "a watcher cancelled and begun again", count: 20_000) { await restarts($0) },
        ]
    }

    private final class Server: Sendable {}

    private struct StatusUpdate: Sendable { var status: String }

    private static let name = NotificationName<StatusUpdate>()

    /// How many posts a watcher may fall behind.
    private static let burst = 100

    /// Posts in bursts, and consumes each burst before the next.
    private static func busToWatcher(_ count: Int) async {
        let (bus, server) = (NotificationBus(), Server())
        let updates = bus.notifications(named: name, object: server)
        var iterator = updates.makeAsyncIterator()
        for _ in 0..<count / burst {
            for _ in 0..<burst { bus.post(name: name, object: server, userInfo: StatusUpdate(status: "Signed In")) }
            for _ in 0..<burst { _ = await iterator.next(isolation: #isolation) }
        }
    }

    private static func busUnobserved(_ count: Int) {
        let (bus, server, other) = (NotificationBus(), Server(), Server())
        let iterator = bus.notifications(named: name, object: other).makeAsyncIterator()
        for _ in 0..<count { bus.post(name: name, object: server, userInfo: StatusUpdate(status: "Signed In")) }
        withExtendedLifetime(iterator) {}
    }

    private static func foundationToBlock(_ count: Int) {
        let (center, server) = (NotificationCenter(), Server())
        let name = Notification.Name("didUpdateStatus")
        let received = Atomic(0)
        let observer = center.addObserver(forName: name, object: server, queue: nil) { notification in
            if notification.userInfo?["status"] != nil { received.add(1, ordering: .relaxed) }
        }
        for _ in 0..<count { center.post(name: name, object: server, userInfo: ["status": "Signed In"]) }
        precondition(received.load(ordering: .relaxed) == count)
        center.removeObserver(observer)
    }

    private static func asyncStream(_ count: Int) async {
        let (stream, continuation) = AsyncStream.makeStream(of: StatusUpdate.self)
        var iterator = stream.makeAsyncIterator()
        for _ in 0..<count / burst {
            for _ in 0..<burst { continuation.yield(StatusUpdate(status: "Signed In")) }
            for _ in 0..<burst { _ = await iterator.next(isolation: #isolation) }
        }
    }

    /// Cancels a watcher and waits for its end before the next one begins, as a switch of the selection does.
    private static func restarts(_ count: Int) async {
        let (bus, servers) = (NotificationBus(), [Server(), Server()])
        for round in 0..<count {
            let server = servers[round % 2]
            let watcher = Task { for await _ in bus.notifications(named: name, object: server) {} }
            watcher.cancel()
            await watcher.value
        }
    }
}
