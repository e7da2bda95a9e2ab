// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import NotificationStreamsFoundation

/// An actor whose jobs run only when the test runs them.
private actor Watcher {
    private let executor: StepExecutor.Actors
    private let log: Log<String?>

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(executor: StepExecutor.Actors, log: Log<String?>) {
        self.executor = executor
        self.log = log
    }

    func watch(_ server: Server, on center: NotificationCenter) async {
        for await notification in center.notifications(named: .didUpdateStatus, object: server) {
            log.append(notification.status)
        }
    }

    func watchTexts(_ server: Server, on center: NotificationCenter) async {
        let sequence = center.notifications(named: .didUpdateStatus, object: server).compactMap {
            $0.userInfo?["status"] as? String
        }
        for await status in sequence {
            log.append(status)
        }
    }
}

@Suite("Where notifications are consumed", .timeLimit(.minutes(5)))
struct NotificationIsolationTests {
    let center = NotificationCenter()
    let executor = StepExecutor()
    let log = Log<String?>()

    /// Posts to a consumer, and checks how many jobs each notification takes on the executor.
    private func check(
        jobs: Int, actors: StepExecutor.Actors, _ watch: @escaping @Sendable (Server) async -> Void
    ) async {
        let server = Server(center: center)
        let task = Task(executorPreference: executor) { await watch(server) }
        executor.run(actors: actors)
        for status in ["one", "two", "three"] {
            server.post(status)
            #expect(executor.run(actors: actors) == jobs)
        }
        #expect(log.entries == ["one", "two", "three"])
        task.cancel()
        executor.run(actors: actors)
        await task.value
    }

    @Test("a nonisolated consumer takes each notification in one job on its task's executor")
    func nonisolated() async {
        await check(jobs: 1, actors: executor.makeActors()) { [center, log] server in
            for await notification in center.notifications(named: .didUpdateStatus, object: server) {
                log.append(notification.status)
            }
        }
    }

    @Test("a consumer on an actor takes each notification in two jobs: its task's and the actor's")
    func isolated() async {
        let actors = executor.makeActors()
        let watcher = Watcher(executor: actors, log: log)
        await check(jobs: 2, actors: actors) { [center] in await watcher.watch($0, on: center) }
    }

    @Test("compactMap does not leave the actor")
    func isolatedValues() async {
        let actors = executor.makeActors()
        let watcher = Watcher(executor: actors, log: log)
        await check(jobs: 2, actors: actors) { [center] in await watcher.watchTexts($0, on: center) }
    }

    @Test("compactMap skips notifications for which its closure returns nil")
    func passesOver() async {
        let server = Server(center: center)
        let sequence = center.notifications(named: .didUpdateStatus, object: server).compactMap {
            $0.status.flatMap { Int($0) }
        }
        var iterator = sequence.makeAsyncIterator()
        for status in ["1", "not a number", "2"] {
            server.post(status)
        }
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
    }
}
