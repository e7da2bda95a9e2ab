// SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import NotificationStreams
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// An actor whose jobs run when the test says so.
private actor Watcher {
    private let executor: StepExecutor
    private let log: Log<String?>

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(executor: StepExecutor, log: Log<String?>) {
        self.executor = executor
        self.log = log
    }

    func watch(_ server: Server, on center: NotificationCenter) async {
        for await notification in center.notifications(named: .didUpdateStatus, object: server) {
            log.append(notification.status)
        }
    }
}

@Suite("Who consumes notifications")
struct NotificationIsolationTests {
    @Test("A consumer on an actor is resumed there by one job, with no detour", .timeLimit(.minutes(1)))
    func noHop() async {
        let center = NotificationCenter()
        let server = Server(center: center)
        let executor = StepExecutor()
        let log = Log<String?>()
        let watcher = Watcher(executor: executor, log: log)
        let task = Task(executorPreference: executor) { await watcher.watch(server, on: center) }
        executor.run()
        for status in ["one", "two", "three"] {
            server.post(status)
            #expect(executor.run() == 1)
        }
        #expect(log.entries == ["one", "two", "three"])
        task.cancel()
        executor.run()
        await task.value
    }

    #if os(Linux)
        @Test("Two consumers of one iterator at once end the program, and it says why", .timeLimit(.minutes(1)))
        func secondConsumer() async throws {
            let result = try #require(
                await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                    // The crash is wanted: no backtrace of it.
                    signal(SIGILL, SIG_DFL)
                    signal(SIGTRAP, SIG_DFL)
                    let executor = StepExecutor()
                    let iterator = NotificationCenter.default.notifications(named: .didUpdateStatus).makeAsyncIterator()
                    let subscription = iterator.subscription
                    for _ in 0..<2 {
                        Task(executorPreference: executor) { _ = await subscription.next(isolation: nil) }
                    }
                    executor.run()
                })
            let output = String(decoding: result.standardErrorContent, as: UTF8.self)
            #expect(output.contains("an iterator has one consumer"))
        }
    #endif
}
