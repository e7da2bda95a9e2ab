// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import TestSupport
import Testing

/// The examples in NotificationStreams.md, unchanged.
@Suite("The examples of the overview", .timeLimit(.minutes(5)))
struct OverviewTests {
    @Test("the selected server's status is shown")
    func follows() async {
        let executor = StepExecutor()
        let shown = Log<String>()
        let show: @Sendable (String) -> Void = { shown.append($0) }
        let (selections, selection) = AsyncStream.makeStream(of: Server.self)
        let task = Task(executorPreference: executor) {
            await forLatest(of: selections) { server in
                for await update in NotificationBus.default.notifications(named: .didUpdateStatus, object: server) {
                    show(update.status)
                }
            }
        }
        let (first, second) = (Server(), Server())
        selection.yield(first)
        executor.run()
        first.signIn()
        executor.run()
        selection.yield(second)
        executor.run()
        first.signIn()
        second.signOut()
        executor.run()
        #expect(shown.entries == ["Signed In", "Signed Out"])
        task.cancel()
        executor.run()
        await task.value
    }

    @Test("a server's state is loaded once, and again by each refresh")
    func loads() async throws {
        let fetched = Log<Int>()
        let fetch: @Sendable () async throws -> Int = {
            fetched.append(fetched.entries.count)
            return fetched.entries.count
        }
        let first = SharedLoad(keepsValue: true) { try await fetch() }
        let again = SharedLoad { try await fetch() }
        let refresh = RefreshAction { _ = try? await again.load() }

        let state = try await first.load()
        await refresh()
        #expect(state == 1)
        #expect(try await first.load() == 1)
        #expect(fetched.entries.count == 2)
    }
}
