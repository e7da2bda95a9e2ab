// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import NotificationStreams
import TestSupport
import Testing

@testable import NotificationStreamsFoundation

@Suite("Misusing a notification iterator")
struct NotificationMisuseTests {
    @Test("two concurrent consumers of one iterator end the program with a message", .timeLimit(.minutes(5)))
    func secondConsumer() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            // The crash is expected, so skip its backtrace, which takes a long time.
            signal(SIGILL, SIG_DFL)
            signal(SIGTRAP, SIG_DFL)
            let executor = StepExecutor()
            let iterator = NotificationCenter.default.notifications(named: .didUpdateStatus).makeAsyncIterator()
            let subscription = iterator.subscription
            for _ in 0..<2 {
                // Unstructured, because the second task does not return.
                Task(executorPreference: executor) { _ = await subscription.next(isolation: nil) }
            }
            executor.run()
        }
        let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(output.contains("an iterator has one consumer"))
    }
}
#endif
